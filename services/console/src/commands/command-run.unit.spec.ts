import { expect, it } from 'vitest'
import { runAnswerOf } from './command-run.ts'

const MESSAGE = "Postgres was unavailable (Can't reach database server at db.internal:5432)"

function messageFor(role: 'viewer' | 'operator', code: string): string | undefined {
  const failure = { code, message: MESSAGE, faults: [] }
  const run = {
    by: 'Grace',
    startedAtMs: 0,
    resumedAtMs: undefined,
    endedAtMs: 0,
    progress: undefined,
    failure,
    result: {},
  }
  return runAnswerOf(run, role).failure?.message
}

it.each(['UNEXPECTED', 'COMMAND_FAILED', 'DATABASE_UNAVAILABLE', 'LIVE_IS_BUSY', 'BAD_CONFIG', 'A_NEW_ONE'])(
  'a run hides the message of a failure with the code %s from viewers',
  (code) => {
    expect(messageFor('viewer', code)).toContain('Only operators see the message')
    expect(messageFor('viewer', code)).not.toContain('db.internal')
    expect(messageFor('operator', code)).toBe(MESSAGE)
  },
)

it.each(['REPLAY_RUNS', 'STOPPED', 'INVALID_WORKSPACE'])('a run shows the message of %s to viewers', (code) => {
  expect(messageFor('viewer', code)).toBe(MESSAGE)
})
