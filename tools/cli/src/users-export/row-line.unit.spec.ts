import { expect, it } from 'vitest'
import { rowLineOf } from './row-line.ts'

it('shows a row with names as in the API and instants in UTC, and leaves values of people as they are', () => {
  const row = {
    organization: 'acme',
    project: 'shop',
    user_id: '018f0000-0000-7000-8000-000000000000',
    user_name: '2026-11-02T12:00:00+02:00',
    first_seen_at: '2026-11-02T12:00:00.5+02:00',
    show_from: '2026-11-02T10:00:00+00:00',
    as_of: '-infinity',
    latest_ms: [0, 1_000],
    traits: { a_at: '2026-11-02T12:00:00+02:00' },
  }
  expect(rowLineOf('user-projector', { table: 'users', row })).toEqual({
    type: 'profile',
    line: {
      userName: '2026-11-02T12:00:00+02:00',
      firstSeenAt: '2026-11-02T10:00:00.500Z',
      showFrom: '2026-11-02T10:00:00.000Z',
      asOf: '-infinity',
      latestAt: ['1970-01-01T00:00:00.000Z', '1970-01-01T00:00:01.000Z'],
      traits: { a_at: '2026-11-02T12:00:00+02:00' },
    },
  })
})

it('names the table of a row without a type', () => {
  expect(rowLineOf('metering', { table: 'badges', row: { user_id: 'x', level: 3 } })).toEqual({
    type: 'row',
    line: { table: 'badges', level: 3 },
  })
})
