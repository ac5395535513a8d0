/** `pnpm start`: the whole product on this machine, until Ctrl-C. */
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { printDemo } from '@nextvisit/cli/print-demo'
import { processInfo } from '@nextvisit/cli/process-info'
import { readStartConfig } from './config.ts'
import { portBeside } from './free-port.ts'
import { readScale, type Scale } from './scale.ts'
import { startStack } from './stack.ts'

const CHECK_LAUNCHERS_EVERY_MS = 1_000

const HELP = `Usage: npx -y pnpm start [--scale <consumer>=<processes>]…

Starts Kafka, Postgres, Redis, the services and the console on this machine, until Ctrl-C.

  --scale <consumer>=<processes>
                       starts several processes of a consumer, such as --scale metering=3 (default: one of each)

Environment variables:

  GATEWAY_PORT         port of the gateway (default 8080)
  CONSOLE_PORT         port of the console (default: the gateway's port plus one, or another if that is taken)
  GATEWAY_TRUSTED_PROXIES
                       proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8 (default: none)
  NEXTVISIT_DATA       folder for data and logs (default .nextvisit in the checkout)
  NEXTVISIT_WORKSPACE  workspace file to apply (default: the demo)
  ERASURE_KEY_RETENTION
                       time until an erasure is complete, such as 40s (default: as at the last start; at first 24h)
  KAFKA_BROKERS, DATABASE_URL (or one per service, see docs/reference/configuration.md), REDIS_URL
                       existing parts to use instead of starting them`

/** Returns the arguments. Prints the help, or refuses other arguments, and exits. */
function readArguments(): { readonly scale: Scale } {
  try {
    const { values } = parseArgs({
      options: { help: { type: 'boolean', short: 'h' }, scale: { type: 'string', multiple: true } },
    })
    if (!values.help) return { scale: readScale(values.scale ?? []) }
    console.log(HELP)
    process.exit(0)
  } catch (error) {
    console.error(`✗ ${(error as Error).message}\n\n${HELP}`)
    process.exit(2)
  }
}

const { scale } = readArguments()

const stopping = new AbortController()
/** Interval within which signals count as one Ctrl-C: `timeout`, npx and a terminal may all forward it. */
const SAME_REQUEST_WITHIN_MS = 300
let stopRequestedAt = 0

function requestStop(): void {
  if (stopping.signal.aborted) {
    if (performance.now() - stopRequestedAt < SAME_REQUEST_WITHIN_MS) return
    process.exit(1) // second Ctrl-C: the watchdog ends the running processes
  }
  stopRequestedAt = performance.now()
  stopping.abort()
  console.log('\nStopping … (Ctrl-C again to stop at once)')
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, requestStop)
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {}) // the terminal may be closed
watchLaunchers(() => {
  if (!stopping.signal.aborted) requestStop()
})

try {
  const startedAt = performance.now()
  const { signal } = stopping
  const config = readStartConfig()
  const consolePort = config.consolePort ?? (await portBeside(config.gatewayPort))
  const stack = await startStack({ ...config, scale, consolePort, signal, onProgress: (line) => console.log(line) })
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`\nNextvisit answers at ${stack.gatewayUrl}, after ${seconds} s. Ctrl-C stops everything.`)
  console.log(`API documentation: ${stack.gatewayUrl}/docs`)
  if (stack.console) {
    console.log(`Console: ${stack.console.url}, operator token: ${stack.console.token}`)
    console.log(`Read-only token: ${stack.console.viewerToken}\n`)
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

/**
 * Calls back once when npx, pnpm or a shell between them and this process has ended. A killed launcher sends no signal, and
 * the stack would continue unnoticed. The death of a launcher is visible because its child gets another parent.
 */
function watchLaunchers(onGone: () => void): void {
  const launched = launchedProcesses()
  const timer = setInterval(() => {
    if (launched.every(({ pid, parent }) => processInfo(pid)?.parent === parent)) return
    clearInterval(timer)
    onGone()
  }, CHECK_LAUNCHERS_EVERY_MS).unref()
}

/** Returns this process and its ancestors below the outermost npx, npm or pnpm, whose parent may end. */
function launchedProcesses(): readonly { readonly pid: number; readonly parent: number }[] {
  const chain: { readonly pid: number; readonly parent: number }[] = []
  let launched = 0
  for (let pid = process.pid, info = processInfo(pid); info !== undefined && info.parent > 1; ) {
    chain.push({ pid, parent: info.parent })
    pid = info.parent
    info = processInfo(pid)
    if (info !== undefined && /\b(npm|npx|pnpm)\b/.test(info.command)) launched = chain.length
  }
  return chain.slice(0, launched)
}
