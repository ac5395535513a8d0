import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { devNull } from 'node:os'

/** The CLI, as this process starts it. */
export interface Cli {
  /** Path of its `main.ts`. */
  readonly entry: string
  /** Settings for the log. No other variables of this process are passed on. */
  readonly environment: Readonly<Record<string, string>>
}

interface CliProcessOptions {
  readonly cli: Cli
  readonly args: readonly string[]
  /** Added to the environment of the CLI. */
  readonly environment?: Readonly<Record<string, string>>
  /** Text for standard input. */
  readonly input?: string
  readonly maxHeapMb?: number | undefined
  /** Called with each line of standard output. */
  readonly onLine: (line: string) => void
}

export type CliEnd =
  | { readonly reason: 'exited'; readonly exitCode: number; readonly stderr: string }
  | { readonly reason: 'killed'; readonly signal: string; readonly stderr: string }
  | { readonly reason: 'not-started' }
  /** Killed because it printed a line longer than any expected one. */
  | { readonly reason: 'too-much-output' }

export interface CliProcess {
  readonly ended: Promise<CliEnd>
  /** Sends SIGTERM, and later SIGKILL. */
  readonly stop: () => void
}

/** Far above the longest outcome. */
const MAX_LINE_CHARACTERS = 4 * 2 ** 20
/** Only the beginning of standard error is kept. */
const MAX_STDERR_CHARACTERS = 300
const KILL_AFTER_MS = 3_000

/**
 * Starts a command of `nextvisit` as a separate process, without a shell. It gets only the environment given here, so
 * input of an operator cannot reach secrets of this process. It does not look for a local stack.
 */
export function startCliProcess(options: CliProcessOptions): CliProcess {
  const child = spawnCli(options)
  return child ? follow(child, options) : { ended: Promise.resolve({ reason: 'not-started' }), stop: () => {} }
}

/** Spawns a command as {@link startCliProcess} does. Returns undefined if the machine has no room for a process. */
export function spawnCli({
  cli,
  args,
  environment,
  maxHeapMb,
}: Pick<CliProcessOptions, 'cli' | 'args' | 'environment' | 'maxHeapMb'>): ChildProcessWithoutNullStreams | undefined {
  const limits = maxHeapMb === undefined ? [] : [`--max-old-space-size=${maxHeapMb}`]
  let child: ChildProcess
  try {
    child = spawn(process.execPath, [...limits, cli.entry, ...args], {
      env: { NEXTVISIT_DATA: devNull, ...cli.environment, ...environment },
    })
  } catch {
    return undefined
  }
  // An unhandled `error` event would end this process.
  child.on('error', () => {})
  return hasStreams(child) ? child : undefined
}

/** Returns false if this process has too many open files: the child then has no streams. */
function hasStreams(child: ChildProcess): child is ChildProcessWithoutNullStreams {
  return Boolean(child.stdin && child.stdout && child.stderr)
}

function follow(child: ChildProcessWithoutNullStreams, { input = '', onLine }: CliProcessOptions): CliProcess {
  let [rest, stderr, hasTooMuch] = ['', '', false]
  let killing: NodeJS.Timeout | undefined

  const stop = (): void => {
    child.kill('SIGTERM')
    killing ??= setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
  }

  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (hasTooMuch) return
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
    hasTooMuch = rest.length > MAX_LINE_CHARACTERS
    if (hasTooMuch) stop()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(0, MAX_STDERR_CHARACTERS)
  })
  // The command may end before it has read everything.
  child.stdin.on('error', () => {})
  child.stdin.end(input)

  const ended = new Promise<CliEnd>((resolve) => {
    child.once('error', () => resolve({ reason: 'not-started' }))
    child.once('close', (exitCode, signal) => {
      clearTimeout(killing)
      if (hasTooMuch) resolve({ reason: 'too-much-output' })
      else if (exitCode === null) resolve({ reason: 'killed', signal: signal ?? 'unknown', stderr })
      else resolve({ reason: 'exited', exitCode, stderr })
    })
  })
  return { ended, stop }
}
