import type { ErrorLine, ProgressLine } from '@nextvisit/contracts'
import type { Logger } from '@nextvisit/service-kit'
import type { ZodType } from 'zod'
import { whoIs } from '../http/app.ts'
import type { Session } from '../session/sessions.ts'
import type { Failure } from './api.ts'
import { type Cli, type CliEnd, type CliProcess, startCliProcess } from './cli-process.ts'
import { failureOf } from './failure-of.ts'

/** A kind of long work that a command of `nextvisit` does, and what is made of the lines that it prints. */
export interface CommandKind<Request, Line, Result> {
  /** For the log. */
  readonly name: string
  /** From a closed set: nothing that somebody typed stands among them. */
  readonly argsOf: (request: Request) => readonly string[]
  readonly inputOf?: (request: Request) => string
  readonly environment?: Readonly<Record<string, string>>
  readonly maxHeapMb?: number
  readonly line: ZodType<Line>
  readonly begin: (request: Request) => Result
  readonly evolve: (result: Result, line: Line) => Result
  /** How it ended, in one word; undefined: it has not come so far. */
  readonly outcomeOf: (result: Result) => string | undefined
}

/** One run of a command: the one that runs, or the last one. */
export interface CommandRun<Result> {
  readonly by: string
  readonly startedAtMs: number
  readonly endedAtMs: number | undefined
  readonly progress: ProgressLine | undefined
  /** Why it ended without an outcome. */
  readonly failure: Failure | undefined
  readonly result: Result
}

export interface CommandJob<Request, Result> {
  /** `runs`: another one has not ended yet. */
  readonly start: (request: Request, session: Session) => 'started' | 'runs'
  readonly look: () => CommandRun<Result> | undefined
  /** Whether there was something to stop. */
  readonly stop: (by: string) => boolean
  /** For the end of this process: resolves when nothing runs any more. */
  readonly close: () => Promise<void>
}

export interface CommandJobParts {
  readonly cli: Cli
  readonly nowMs: () => number
  readonly logger: Logger
}

type AnyLine = { readonly type: string } | ProgressLine | ErrorLine

/** Runs commands of a kind, one at a time. A run goes on when whoever started it has left; it ends with this process. */
export function createCommandJob<Request, Line extends AnyLine, Result>(
  kind: CommandKind<Request, Line, Result>,
  { cli, nowMs, logger }: CommandJobParts,
): CommandJob<Request, Result> {
  let run: CommandRun<Result> | undefined
  let running: { readonly child: CliProcess; stoppedBy?: string } | undefined

  function hear(text: string): void {
    const line = parse(kind.line, text)
    if (!line || !run) return
    if (isProgress(line)) run = { ...run, progress: line }
    else if (isError(line)) run = { ...run, failure: line }
    else run = { ...run, result: kind.evolve(run.result, line) }
  }

  function end(session: Session, how: CliEnd): void {
    const stoppedBy = running?.stoppedBy
    running = undefined
    if (!run) return
    const outcome = kind.outcomeOf(run.result)
    const isExplained = outcome !== undefined || run.failure !== undefined || stoppedBy !== undefined
    const failure = outcome === undefined ? (run.failure ?? failureOf(how, stoppedBy)) : undefined
    run = { ...run, endedAtMs: nowMs(), failure }
    const said = { action: `${kind.name} ended`, ...whoIs(session), outcome: outcome ?? failure?.code }
    if (isExplained) logger.info(said, 'console action')
    else logger.warn({ ...said, ...how }, 'console action')
  }

  return {
    start: (request, session) => {
      if (running) return 'runs'
      const result = kind.begin(request)
      const child = startCliProcess({
        cli,
        args: kind.argsOf(request),
        environment: kind.environment ?? {},
        input: kind.inputOf?.(request) ?? '',
        maxHeapMb: kind.maxHeapMb,
        onLine: hear,
      })
      run = {
        by: session.name,
        startedAtMs: nowMs(),
        endedAtMs: undefined,
        progress: undefined,
        failure: undefined,
        result,
      }
      running = { child }
      void child.ended.then((how) => end(session, how))
      return 'started'
    },
    look: () => run,
    stop: (by) => {
      if (!running) return false
      running.stoppedBy = by
      running.child.stop()
      return true
    },
    close: async () => {
      const child = running?.child
      child?.stop()
      await child?.ended
    },
  }
}

function parse<Line>(schema: ZodType<Line>, text: string): Line | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

function isProgress(line: AnyLine): line is ProgressLine {
  return line.type === 'progress'
}

function isError(line: AnyLine): line is ErrorLine {
  return line.type === 'error'
}
