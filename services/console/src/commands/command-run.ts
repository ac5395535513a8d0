import { ErrorLine, Instant, ProgressLine } from '@nextvisit/contracts'
import { z } from 'zod'
import type { Role } from '../http/define-route.ts'

/** Reason why a command ended without an outcome. */
const Failure = ErrorLine.omit({ type: true })
export type Failure = z.infer<typeof Failure>

/** The current or last run of a command. */
export interface CommandRun<Result> {
  /** Name of the session that started it. */
  readonly by: string
  readonly startedAtMs: number
  /** Time when this process of the console resumed it; undefined: it was not interrupted. */
  readonly resumedAtMs: number | undefined
  readonly endedAtMs: number | undefined
  readonly progress: ProgressLine | undefined
  /** Reason why it ended without an outcome. */
  readonly failure: Failure | undefined
  readonly result: Result
}

/** The part of an answer that every run of a command has. */
export const CommandRunAnswer = z.strictObject({
  /** Name of the session that started it. */
  by: z.string(),
  startedAt: Instant,
  /** Time when the console resumed it after its own restart; null: it was not interrupted. */
  resumedAt: Instant.nullable(),
  /** null: running. */
  endedAt: Instant.nullable(),
  progress: ProgressLine.omit({ type: true }).nullable(),
  failure: Failure.nullable(),
})
export type CommandRunAnswer = z.infer<typeof CommandRunAnswer>

const ONLY_FOR_OPERATORS =
  'The command failed. Only operators see the message, as it may contain addresses or personal data.'

/** Codes of failures whose messages contain only our own words, numbers, and names of the catalog and the code. */
const PUBLIC_CODES: ReadonlySet<string> = new Set([
  'CHANGE_NOT_RECORDED',
  'ENDED',
  'INTERRUPTED',
  'INVALID_WORKSPACE',
  'KILLED',
  'LOG_BEGINS_LATE',
  'NOT_CAUGHT_UP',
  'NOT_LEVEL',
  'NOT_SETTLED',
  'NOT_STARTED',
  'OUT_OF_MEMORY',
  'REBUILD_PUBLISHES',
  'REPLAY_OF_OTHER_CODE',
  'REPLAY_RUNS',
  'SCHEMAS_DIFFER',
  'STOPPED',
  'TABLE_WITHOUT_ROLE',
  'TOO_MUCH_OUTPUT',
])

/** Converts a run for a reader of this role. Messages of other programs may quote personal data. */
export function runAnswerOf(run: CommandRun<unknown>, role: Role): CommandRunAnswer {
  const { by, startedAtMs, resumedAtMs, endedAtMs, progress, failure } = run
  return {
    by,
    startedAt: new Date(startedAtMs).toISOString(),
    resumedAt: resumedAtMs === undefined ? null : new Date(resumedAtMs).toISOString(),
    endedAt: endedAtMs === undefined ? null : new Date(endedAtMs).toISOString(),
    progress: progress ?? null,
    failure: failure ? visibleFailureOf(failure, role) : null,
  }
}

function visibleFailureOf(failure: Failure, role: Role): Failure {
  if (role === 'operator' || PUBLIC_CODES.has(failure.code)) return { ...failure }
  return { code: failure.code, message: ONLY_FOR_OPERATORS, faults: [] }
}
