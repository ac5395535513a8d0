import { expect, it } from 'vitest'
import { reportComparisons } from './report.ts'

it('tells beside the differences of a table which of them are none to worry about', () => {
  const counts = { liveRows: 3, rebuiltRows: 3, onlyLive: 1, onlyRebuilt: 1 }
  const examples = [{ key: 'user_id=ada', kind: 'differs', columns: ['as_of'] }] as const
  const equal = { table: 'usage', liveRows: 1, rebuiltRows: 1, onlyLive: 0, onlyRebuilt: 0, examples: [] }
  const expected = { users: 'as_of alone may differ.', usage: 'unsaid' }
  expect(reportComparisons([{ table: 'users', ...counts, examples }, equal], expected)).toEqual([
    'TABLE  LIVE ROWS  REBUILT ROWS  LIVE UNMATCHED  REBUILT UNMATCHED',
    'users          3             3               1                  1',
    'usage          1             1               0                  0',
    '  users user_id=ada: differs in as_of',
    '  users: as_of alone may differ.',
  ])
})
