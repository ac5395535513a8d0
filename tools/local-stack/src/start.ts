/** `pnpm start`: the whole product on this machine, until Ctrl-C. */
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { printDemo } from '@nextvisit/cli/print-demo'
import { readStartConfig } from './config.ts'
import { portBeside } from './free-port.ts'
import { startStack } from './stack.ts'
import { watchLaunchers } from './watch-launchers.ts'

const HELP = `Usage: npx -y pnpm start

Starts Kafka, Postgres, Redis, the services and the console on this machine, until Ctrl-C. It takes no arguments. Environment variables:

  GATEWAY_PORT         where the gateway answers (default 8080)
  CONSOLE_PORT         where the console answers (default: the gateway's plus one, or another if that is taken)
  GATEWAY_TRUSTED_PROXIES
                       proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8 (default: none)
  NEXTVISIT_DATA       folder for data and logs (default .nextvisit in the checkout)
  NEXTVISIT_WORKSPACE  workspace file to apply (default: the demo)
  KAFKA_BROKERS, DATABASE_URL (or one per service, see docs/reference/configuration.md), REDIS_URL
                       parts that run already and are not started`

function explainOrRefuse(): void {
  try {
    const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } })
    if (!values.help) return
    console.log(HELP)
    process.exit(0)
  } catch (error) {
    console.error(`✗ ${(error as Error).message}\n\n${HELP}`)
    process.exit(2)
  }
}

explainOrRefuse()

const stopping = new AbortController()
/** `timeout`, npx and a terminal may all pass on the same Ctrl-C. A person's second one comes later. */
const SAME_REQUEST_WITHIN_MS = 300
let stopRequestedAt = 0

function requestStop(): void {
  if (stopping.signal.aborted) {
    if (performance.now() - stopRequestedAt < SAME_REQUEST_WITHIN_MS) return
    process.exit(1) // the second Ctrl-C: the watchdog ends what is still running
  }
  stopRequestedAt = performance.now()
  stopping.abort()
  console.log('\nStopping … (Ctrl-C again to stop at once)')
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, requestStop)
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {}) // the terminal may be gone
watchLaunchers(() => {
  if (!stopping.signal.aborted) requestStop()
})

try {
  const startedAt = performance.now()
  const { signal } = stopping
  const config = readStartConfig()
  const consolePort = config.consolePort ?? (await portBeside(config.gatewayPort))
  const stack = await startStack({ ...config, consolePort, signal, onProgress: (line) => console.log(line) })
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`\nNextvisit answers at ${stack.gatewayUrl}, after ${seconds} s. Ctrl-C stops everything.`)
  console.log(`Its routes are described at ${stack.gatewayUrl}/docs`)
  if (stack.console) {
    console.log(`The console is at ${stack.console.url}; its token is ${stack.console.token}`)
    console.log(`Somebody who only looks signs in with ${stack.console.viewerToken}\n`)
  }
  printDemo(stack, { localPrefix: config.commandPrefix })
  if (!signal.aborted) await once(signal, 'abort')
  await stack.stop()
  console.log('Stopped.')
  process.exit(0)
} catch (error) {
  if (stopping.signal.aborted) console.log('Stopped.')
  else console.error(`\n✗ ${describe(error)}`)
  process.exit(1)
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'retryable' in error ? error.message : (error.stack ?? error.message)
}
