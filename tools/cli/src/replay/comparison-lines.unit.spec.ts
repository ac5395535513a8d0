import { expect, it } from 'vitest'
import { comparisonLines } from './comparison-lines.ts'

it('a comparison lists differences, and columns that were not compared', () => {
  const counts = { liveRows: 3, rebuiltRows: 3, onlyLive: 1, onlyRebuilt: 1 }
  const examples = [{ key: 'user_id=ada', kind: 'differs', columns: ['traits'] }] as const
  const equal = { table: 'usage', liveRows: 1, rebuiltRows: 1, onlyLive: 0, onlyRebuilt: 0, examples: [] }
  const users = { notCompared: { as_of: 'the log has none.' } }
  expect(comparisonLines([{ table: 'users', ...counts, examples }, equal], { users, usage: 'fold' })).toEqual([
    'TABLE  LIVE ROWS  REBUILT ROWS  LIVE UNMATCHED  REBUILT UNMATCHED',
    'users          3             3               1                  1',
    'usage          1             1               0                  0',
    '  users user_id=ada: differs in traits',
    'Not compared: users.as_of: the log has none.',
  ])
})
