/** `pnpm start`: the whole product on this machine, until Ctrl-C. */
import { readStartConfig } from './config.ts'
import { demoCommands } from './demo-commands.ts'
import { StackError } from './errors.ts'
import { startStack, type Stack } from './stack.ts'

const PARENT_CHECK_MS = 1_000

const stopping = new AbortController()
let stack: Stack | undefined

function requestStop(): void {
  if (stopping.signal.aborted) process.exit(1) // the second Ctrl-C: the watchdog ends what still runs
  stopping.abort()
  console.log('\nStopping … (Ctrl-C again to stop at once)')
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, requestStop)
const parent = process.ppid
setInterval(() => {
  if (process.ppid !== parent && !stopping.signal.aborted) requestStop() // pnpm was killed
}, PARENT_CHECK_MS).unref()

try {
  const startedAt = performance.now()
  const { signal } = stopping
  stack = await startStack({ ...readStartConfig(), signal, onProgress: (line) => console.log(line) })
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`\nNextvisit answers at ${stack.gatewayUrl}, after ${seconds} s. Ctrl-C stops everything.\n`)
  printDemo(stack)
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
  await stack.stop()
  console.log('Stopped.')
  process.exit(0)
} catch (error) {
  if (!stopping.signal.aborted) console.error(`\n✗ ${error instanceof StackError ? error.message : describe(error)}`)
  process.exit(1)
}

/** A user of its own at each start: a form that is shown once has not been shown to them yet. */
function printDemo(running: Stack): void {
  const commands = demoCommands(running, `ada-${Date.now().toString(36)}`)
  if (commands.length === 0) return
  console.log(`Demo keys: ${running.keys.admin} (admin), ${running.keys.sdk} (sdk)\n`)
  for (const { title, command, answer } of commands) console.log(`${title}\n\n${command}\n\n→ ${answer}\n`)
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
