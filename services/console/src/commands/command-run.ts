import type { Role } from '../http/define-route.ts'
import type { CommandRunAnswer, Failure } from './command-run-answer.ts'
import type { CommandRun } from './command-job.ts'

const ONLY_FOR_OPERATORS =
  'The command failed. Only operators see the message, as it may contain addresses or personal data.'

/** Codes of failures whose messages contain only our own words, numbers, and names of the catalog and the code. */
const PUBLIC_CODES: ReadonlySet<string> = new Set([
  'ENDED',
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
  const { by, startedAtMs, endedAtMs, progress, failure } = run
  return {
    by,
    startedAt: new Date(startedAtMs).toISOString(),
    endedAt: endedAtMs === undefined ? null : new Date(endedAtMs).toISOString(),
    progress: progress ?? null,
    failure: failure ? visibleFailureOf(failure, role) : null,
  }
}

function visibleFailureOf(failure: Failure, role: Role): Failure {
  if (role === 'operator' || PUBLIC_CODES.has(failure.code)) return { ...failure }
  return { code: failure.code, message: ONLY_FOR_OPERATORS, faults: [] }
}
