import type { CommandRunAnswer } from '../api/commands.ts'
import type { Role } from '../api/session.ts'
import type { CommandRun } from './command-job.ts'

const ONLY_FOR_OPERATORS = 'It failed in a way that nobody foresaw. An operator sees how.'

/** What every run of a command has, for somebody who looks. Messages of other programs may quote what a user said. */
export function runAnswerOf(run: CommandRun<unknown>, role: Role): CommandRunAnswer {
  const { by, startedAtMs, endedAtMs, progress, failure } = run
  const isHidden = role === 'viewer' && failure?.code === 'UNEXPECTED'
  return {
    by,
    startedAt: new Date(startedAtMs).toISOString(),
    endedAt: endedAtMs === undefined ? null : new Date(endedAtMs).toISOString(),
    progress: progress ?? null,
    failure: failure ? { ...failure, ...(isHidden && { message: ONLY_FOR_OPERATORS }) } : null,
  }
}
