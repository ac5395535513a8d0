import { randomUUIDv7 } from 'node:crypto'
import type { ErrorLine, ProgressLine } from '@nextvisit/contracts'
import type { Logger } from '@nextvisit/service-kit'
import type { ZodType } from 'zod'
import { Actor } from '../http/actor.ts'
import { sessionFields } from '../http/app.ts'
import type { CommandRun, Failure } from './command-run.ts'
import { changeEnvironment } from './change-environment.ts'
import { type Cli, type CliEnd, type CliProcess, startCliProcess } from './cli-process.ts'
import type { RunFile, RunNote } from './run-file.ts'

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
  /** Makes runs resume after a restart of the console. Default: they end with it. */
  readonly resume?: CommandResume<Request, Result>
}

interface CommandResume<Request, Result> {
  /** The note of the running command. */
  readonly file: RunFile<Request>
  /** Returns the request that continues a command that had begun. */
  readonly requestOf: (request: Request) => Request
  /** Returns true once the command works. */
  readonly hasBegun: (result: Result) => boolean
  /** Codes of failures after which a resumed command that has not begun is retried. */
  readonly retriedCodes: ReadonlySet<string>
}

export interface CommandJobParts {
  readonly cli: Cli
  readonly nowMs: () => number
  readonly logger: Logger
  /** Pause before another attempt to resume. Default: 3 s. */
  readonly resumeAgainAfterMs?: number
}

type AnyLine = { readonly type: string } | ProgressLine | ErrorLine

const RESUME_AGAIN_AFTER_MS = 3_000
/** Kafka and Postgres may start later than the console, and the interrupted process may still be ending. */
const MAX_RESUME_ATTEMPTS = 40
/** A command that often runs while the console ends may be the reason. */
const MAX_INTERRUPTIONS = 3

/**
 * Runs a command, one run at a time. A run outlives the session that started it, and ends with this process. If the command
 * can resume, the next process of the console resumes it.
 */
export function createCommandJob<Request, Line extends AnyLine, Result>(
  command: Command<Request, Line, Result>,
  { cli, nowMs, logger, resumeAgainAfterMs = RESUME_AGAIN_AFTER_MS }: CommandJobParts,
) {
  const { resume } = command
  let run: CommandRun<Result> | undefined
  let running: { readonly child: CliProcess; stoppedBy?: string } | undefined
  /** Runs the resumed command again after a pause. */
  let resuming: NodeJS.Timeout | undefined
  let isClosing = false

  function onLine(note: RunNote<Request>, text: string): void {
    const line = parse(command.line, text)
    if (!line || !run) return
    if (isProgress(line)) run = { ...run, progress: line }
    else if (isError(line)) run = { ...run, failure: line }
    else {
      const result = command.evolve(run.result, line)
      if (!resume?.hasBegun(run.result) && resume?.hasBegun(result)) noteBegin(note)
      run = { ...run, result }
    }
  }

  function noteBegin(note: RunNote<Request>): void {
    if (running?.stoppedBy !== undefined) return
    withNote(({ file, requestOf }) => file.write({ ...note, request: requestOf(note.request) }))
  }

  /** Returns false if the file system fails: that must not end the console. */
  function withNote(work: (own: CommandResume<Request, Result>) => void): boolean {
    try {
      if (resume) work(resume)
      return true
    } catch (error) {
      logger.error({ err: error, action: `${command.name} note` }, 'the note of the running command was not changed')
      return false
    }
  }

  function removeNote(): void {
    withNote(({ file }) => file.remove())
  }

  function cancelRetry(): boolean {
    const isPending = resuming !== undefined
    clearTimeout(resuming)
    resuming = undefined
    return isPending
  }

  function onEnd({ author }: RunNote<Request>, end: CliEnd): Failure | undefined {
    const stoppedBy = running?.stoppedBy
    running = undefined
    if (!run) return undefined
    const outcome = command.outcomeOf(run.result)
    const reported = run.failure
    const failure = outcome === undefined ? (reported ?? failureOf(end, stoppedBy)) : undefined
    run = { ...run, endedAtMs: nowMs(), failure }
    const fields = { action: `${command.name} ended`, ...sessionFields(author), outcome: outcome ?? failure?.code }
    if (outcome ?? reported ?? stoppedBy) logger.info(fields, 'console action')
    else logger.warn({ ...fields, ...end }, 'console action')
    return failure
  }

  async function begin(note: RunNote<Request>, attempt = 1): Promise<void> {
    resuming = undefined
    const { request, author, changeId, startedAtMs, interruptions } = note
    const child = startCliProcess({
      cli,
      args: command.argsOf(request),
      environment: { ...command.environment, ...changeEnvironment(author, changeId, command.environment) },
      input: command.inputOf?.(request) ?? '',
      maxHeapMb: command.maxHeapMb,
      onLine: (text) => onLine(note, text),
    })
    run = {
      by: author.name,
      startedAtMs,
      resumedAtMs: interruptions > 0 ? nowMs() : undefined,
      endedAtMs: undefined,
      progress: undefined,
      failure: undefined,
      result: command.initialResult(request),
    }
    const own: typeof running = { child }
    running = own
    const failure = onEnd(note, await child.ended)
    const isStopped = own.stoppedBy !== undefined
    // The next process resumes only a run that this one has interrupted.
    if (isClosing && failure && !isStopped) return
    const mayTryAgain = interruptions > 0 && !isClosing && !isStopped && attempt < MAX_RESUME_ATTEMPTS
    if (failure && mayTryAgain && resume?.retriedCodes.has(failure.code) && !resume.hasBegun(run.result))
      resuming = setTimeout(() => void begin(note, attempt + 1), resumeAgainAfterMs)
    else removeNote()
  }

  return {
    /** Returns `busy` if another run has not ended. */
    start: (request: Request, author: Actor): 'started' | 'busy' => {
      if (running) return 'busy'
      cancelRetry()
      const about = { author: Actor.parse(author), changeId: randomUUIDv7() }
      const note = { request, ...about, startedAtMs: nowMs(), interruptions: 0 }
      resume?.file.write(note)
      void begin(note)
      return 'started'
    },
    /** Resumes the run that the end of the last process interrupted, if any. Reports one that was interrupted too often. */
    resume: (): void => {
      const note = resume?.file.read()
      if (!note || !resume) return
      const next = { ...note, interruptions: note.interruptions + 1 }
      const { author, startedAtMs, interruptions } = next
      const isGivenUp = interruptions > MAX_INTERRUPTIONS
      const action = `${command.name} ${isGivenUp ? 'interrupted' : 'resumed'}`
      logger.info({ action, ...sessionFields(author), interruptions }, 'console action')
      if (isGivenUp) {
        removeNote()
        const [result, at] = [command.initialResult(next.request), nowMs()]
        const common = { by: author.name, startedAtMs, resumedAtMs: undefined, progress: undefined }
        run = { ...common, endedAtMs: at, failure: INTERRUPTED, result }
        return
      }
      if (withNote(({ file }) => file.write(next))) void begin(next)
    },
    run: (): CommandRun<Result> | undefined => run,
    /** Stops the run, or the retries of a resumed one, and removes the note. Returns false if there is none. */
    stop: (by: string): boolean => {
      if (cancelRetry()) {
        if (run) run = { ...run, failure: stoppedFailure(by) }
        removeNote()
        return true
      }
      if (!running) return false
      running.stoppedBy = by
      removeNote()
      running.child.stop()
      return true
    },
    /** Stops the run, and resolves when it has ended. The note of an interrupted run stays for the next process. */
    close: async (): Promise<void> => {
      isClosing = true
      cancelRetry()
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
  if (stoppedBy !== undefined) return stoppedFailure(stoppedBy)
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

function stoppedFailure(by: string): Failure {
  return failed('STOPPED', `${by} stopped it.`)
}

const INTERRUPTED = failed(
  'INTERRUPTED',
  'Restarts of the console interrupted it four times, so it is not resumed automatically. Start it again: it continues where it was.',
)

function failed(code: string, message: string): Failure {
  return { code, message, faults: [] }
}
