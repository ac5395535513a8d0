import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, mkdirSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { removeContainer, signalContainer } from './docker.ts'
import { StackError } from './errors.ts'
import { messageIn } from './log-summary.ts'
import { watchOver } from './watchdog.ts'

/** Plan of a process that ends when this process ends. */
export interface ProcessPlan {
  /** Name in messages, for example `Kafka` or `user-projector`. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
  /** File to which the process' output is appended. */
  readonly logFile: string
  /** Line that reports readiness, or a check to poll. With neither, the process is ready at once. */
  readonly readyLine?: RegExp
  readonly isReady?: (() => Promise<boolean>) | undefined
  /** Signal for an orderly stop. */
  readonly stopSignal?: NodeJS.Signals
  /** Signal that ends it quickly and safely after this process has ended. */
  readonly endSignal?: 'TERM' | 'QUIT' | 'KILL'
  /** Container of a `docker run` command. It receives the signals, because killing the command leaves it running. */
  readonly container?: string
  readonly onLine?: (line: string) => void
  /** Aborts the start and ends the process. */
  readonly signal?: AbortSignal | undefined
}

export interface OwnedProcess {
  readonly pid: number
  /** Resolves to the cause of its end, for example `exit code 1` or `SIGKILL`. Never rejects. */
  readonly exited: Promise<string>
  readonly kill: (signal: NodeJS.Signals) => void
  /** Stops the process; kills it after ten seconds. */
  readonly stop: () => Promise<void>
}

const READY_WITHIN_MS = 90_000
const ASK_EVERY_MS = 100
const STOP_WITHIN_MS = 10_000
const LAST_LINES = 30

/** Starts the process and waits until it is ready. It has its own process group, so that only this process handles Ctrl-C. */
export async function startOwnedProcess(plan: ProcessPlan): Promise<OwnedProcess> {
  if (plan.container !== undefined) await removeContainer(plan.container)
  const child = spawn(plan.command, plan.args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: plan.cwd,
    env: plan.env,
    ...plan.user,
  })
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`))
  })
  const { lastLines, sawReadyLine } = followOutput(plan, [child.stdout, child.stderr], exited)
  if (child.pid === undefined) throw endedEarly(plan, await exited, lastLines)

  const owned = ownedProcess(plan, child, child.pid, exited)
  const ready = plan.isReady ? askUntilReady(plan.isReady, exited) : plan.readyLine ? sawReadyLine : Promise.resolve()
  const outcome = await firstOf(ready, exited, plan.signal)
  if (outcome === 'ready') return owned
  owned.kill('SIGKILL')
  const how = await exited
  if (outcome === 'aborted') throw new StackError('INTERRUPTED', `${plan.name} was stopped before it was ready.`)
  throw outcome === 'late' ? notReady(plan) : endedEarly(plan, how, lastLines)
}

/** Writes the process' output to its log, and keeps the end in memory. */
function followOutput(
  plan: ProcessPlan,
  streams: readonly Readable[],
  exited: Promise<string>,
): { readonly lastLines: readonly string[]; readonly sawReadyLine: Promise<void> } {
  mkdirSync(path.dirname(plan.logFile), { recursive: true })
  const log = createWriteStream(plan.logFile, { flags: 'a', mode: 0o600 })
  log.on('error', () => {}) // a full disk must not end this process; the part reports it
  void exited.then(() => log.end())
  const lastLines: string[] = []
  const { promise: sawReadyLine, resolve } = Promise.withResolvers<void>()
  for (const input of streams) {
    createInterface({ input }).on('line', (line) => {
      log.write(`${line}\n`)
      lastLines.push(line)
      if (lastLines.length > LAST_LINES) lastLines.shift()
      plan.onLine?.(line)
      if (plan.readyLine?.test(line)) resolve()
    })
  }
  return { lastLines, sawReadyLine }
}

/** Returns the running process. A watchdog ends it if this process ends. */
function ownedProcess(plan: ProcessPlan, child: ChildProcess, pid: number, exited: Promise<string>): OwnedProcess {
  const { container } = plan
  const forget = watchOver(container === undefined ? { pid, signal: plan.endSignal ?? 'TERM' } : { container })
  child.once('exit', forget)
  const kill = (signal: NodeJS.Signals): void => {
    if (container === undefined) child.kill(signal)
    else signalContainer(container, signal)
  }
  const stop = async (): Promise<void> => {
    kill(plan.stopSignal ?? 'SIGTERM')
    const killer = setTimeout(() => kill('SIGKILL'), STOP_WITHIN_MS)
    await exited
    clearTimeout(killer)
  }
  return { pid, exited, kill, stop }
}

async function askUntilReady(isReady: () => Promise<boolean>, exited: Promise<string>): Promise<void> {
  const ended = new AbortController()
  void exited.then(() => ended.abort())
  while (!ended.signal.aborted && !(await isReady())) await sleep(ASK_EVERY_MS)
}

async function firstOf(
  ready: Promise<void>,
  exited: Promise<string>,
  signal = new AbortController().signal,
): Promise<'ready' | 'ended' | 'late' | 'aborted'> {
  const { promise: given, resolve: giveUp } = Promise.withResolvers<'late' | 'aborted'>()
  const timer = setTimeout(() => giveUp('late'), READY_WITHIN_MS)
  const abort = (): void => giveUp('aborted')
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([ready.then(() => 'ready' as const), exited.then(() => 'ended' as const), given])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

function notReady(plan: ProcessPlan): StackError {
  return new StackError(
    'NOT_READY',
    `${plan.name} was not ready within ${READY_WITHIN_MS / 1000} s. Its log: ${plan.logFile}`,
  )
}

function endedEarly(plan: ProcessPlan, how: string, lastLines: readonly string[]): StackError {
  const output = lastLines.join('\n')
  if (/No space left on device|ENOSPC/i.test(output)) {
    return new StackError('NO_SPACE', `${plan.name} ended: the disk is full. Free some space and start again.`)
  }
  const telling =
    lastLines.find((line) => /\b(fatal|\w*error|\w*exception)\b|"level":"(error|fatal)"/i.test(line)) ??
    lastLines.at(-1)
  return new StackError(
    'PART_ENDED',
    `${plan.name} ended during its start (${how})${telling === undefined ? '' : `: ${messageIn(telling).trim().slice(0, 300)}`}\nIts log: ${plan.logFile}`,
    { retryable: true },
  )
}
