import type { ErrorLine, ProgressLine } from '@nextvisit/contracts'
import type { Logger } from '@nextvisit/service-kit'
import type { ZodType } from 'zod'
import { sessionFields } from '../http/app.ts'
import type { Session } from '../http/sessions.ts'
import type { CommandRun, Failure } from './command-run.ts'
import { type Cli, type CliEnd, type CliProcess, startCliProcess } from './cli-process.ts'

/** A long-running command of `nextvisit`, and the fold of the lines that it prints. */
export interface Command<Request, Line, Result> {
  /** Name in the log. */
  readonly name: string
  /** Returns arguments from a closed set, never free text. */
  readonly argsOf: (request: Request) => readonly string[]
  readonly inputOf?: (request: Request) => string
  readonly environment?: Readonly<Record<string, string>>
  readonly maxHeapMb?: number
  readonly line: ZodType<Line>
  readonly initialResult: (request: Request) => Result
  readonly evolve: (result: Result, line: Line) => Result
  /** Returns the outcome in one word; undefined: none yet. */
  readonly outcomeOf: (result: Result) => string | undefined
}

export interface CommandJobParts {
  readonly cli: Cli
  readonly nowMs: () => number
  readonly logger: Logger
}

type AnyLine = { readonly type: string } | ProgressLine | ErrorLine

/** Runs a command, one run at a time. A run outlives the session that started it, and ends with this process. */
export function createCommandJob<Request, Line extends AnyLine, Result>(
  command: Command<Request, Line, Result>,
  { cli, nowMs, logger }: CommandJobParts,
) {
  let run: CommandRun<Result> | undefined
  let running: { readonly child: CliProcess; stoppedBy?: string } | undefined

  function onLine(text: string): void {
    const line = parse(command.line, text)
    if (!line || !run) return
    if (isProgress(line)) run = { ...run, progress: line }
    else if (isError(line)) run = { ...run, failure: line }
    else run = { ...run, result: command.evolve(run.result, line) }
  }

  function onEnd(session: Session, end: CliEnd): void {
    const stoppedBy = running?.stoppedBy
    running = undefined
    if (!run) return
    const outcome = command.outcomeOf(run.result)
    const reported = run.failure
    const failure = outcome === undefined ? (reported ?? failureOf(end, stoppedBy)) : undefined
    run = { ...run, endedAtMs: nowMs(), failure }
    const fields = { action: `${command.name} ended`, ...sessionFields(session), outcome: outcome ?? failure?.code }
    if (outcome ?? reported ?? stoppedBy) logger.info(fields, 'console action')
    else logger.warn({ ...fields, ...end }, 'console action')
  }

  function begin(request: Request, session: Session): void {
    const child = startCliProcess({
      cli,
      args: command.argsOf(request),
      environment: command.environment ?? {},
      input: command.inputOf?.(request) ?? '',
      maxHeapMb: command.maxHeapMb,
      onLine,
    })
    const result = command.initialResult(request)
    run = {
      by: session.name,
      startedAtMs: nowMs(),
      endedAtMs: undefined,
      progress: undefined,
      failure: undefined,
      result,
    }
    running = { child }
    void child.ended.then((end) => onEnd(session, end))
  }

  return {
    /** Returns `busy` if another run has not ended. */
    start: (request: Request, session: Session): 'started' | 'busy' => {
      if (running) return 'busy'
      begin(request, session)
      return 'started'
    },
    run: (): CommandRun<Result> | undefined => run,
    /** Returns false if nothing runs. */
    stop: (by: string): boolean => {
      if (!running) return false
      running.stoppedBy = by
      running.child.stop()
      return true
    },
    /** Stops the run, and resolves when it has ended. */
    close: async (): Promise<void> => {
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

/** Explains the end of a command that printed neither an outcome nor an error. */
function failureOf(end: CliEnd, stoppedBy: string | undefined): Failure {
  if (stoppedBy !== undefined) return failed('STOPPED', `${stoppedBy} stopped it.`)
  if (end.reason === 'not-started')
    return failed('NOT_STARTED', 'The process could not be started because the machine has no room for it.')
  if (end.reason === 'too-much-output')
    return failed('TOO_MUCH_OUTPUT', 'The result is too large for the console. Run the command on a terminal.')
  if (end.reason === 'killed' && end.signal === 'SIGABRT')
    return failed('OUT_OF_MEMORY', 'The command ran out of memory. Run it on a machine with more memory.')
  if (end.reason === 'killed') return failed('KILLED', `The command was killed by ${end.signal}.`)
  return failed(
    'ENDED',
    `The command ended with exit code ${end.exitCode} and printed neither an outcome nor an error. Check that CONSOLE_CLI is the nextvisit of this version. The log of the console says more.`,
  )
}

function failed(code: string, message: string): Failure {
  return { code, message, faults: [] }
}
