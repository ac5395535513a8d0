import { expect, it } from 'vitest'
import type { UserFact } from './facts.ts'
import { createCatalog } from './catalog.ts'
import { createFindings } from './findings.ts'
import type { Snapshot } from './snapshot.ts'
import { createUsersModel } from './users-model.ts'
import { userIdOf } from './uuid-v5.ts'

const catalog = createCatalog()
const BEFORE = '2026-11-02T10:00:00.000Z'
const AFTER = '2026-11-02T10:00:01.000Z'
const user = { organization: 'acme', project: 'shop', userId: userIdOf('acme', 'shop', 'ada') } as const
const of = { ...user, environment: 'P', keyed: false, userName: 'ada' } as const
const identified: UserFact = {
  ...of,
  type: 'IdentifyRequested',
  id: 'a',
  source: 'admin',
  received: BEFORE,
  traits: [],
  operations: {},
  device: {},
  registeredTraits: [],
}
const tracked: UserFact = {
  ...of,
  type: 'EventTracked',
  id: 'b',
  source: 'sdk',
  received: AFTER,
  eventName: 'X',
  slug: 'x',
  occurredAt: AFTER,
  newEvent: true,
  metered: true,
  evaluateTriggers: true,
}

/** Rows of a service that folded the identify as a retried dead letter, after the event found no user. */
async function* rows(sql: string) {
  const [firstSeenAt, lastSeenAt] = [BEFORE, BEFORE]
  if (sql.includes('user_name')) {
    yield {
      ...user,
      userName: 'ada',
      traits: '{}',
      traitBytes: 0,
      dropped: 0,
      country: null,
      device: '{}',
      firstSeenAt,
      lastSeenAt,
    }
  }
  if (sql.includes('user_events')) {
    yield {
      ...user,
      slug: 'x',
      count: 1,
      firstAt: AFTER,
      lastAt: AFTER,
      latest: String(Date.parse(AFTER)),
    }
  }
}

it.each([
  ['late', true, []],
  ['in order', false, ['users.users: lastSeenAt']],
])(
  'the model of users checks the last-seen time of a user whose identify was folded %s',
  async (_when, isLate, kinds) => {
    const findings = createFindings()
    const model = createUsersModel(catalog, true)
    model.foldUser?.(identified, { partition: 0, offset: 0n, isLate })
    model.foldUser?.(tracked, { partition: 0, offset: 1n, isLate: false })
    await model.compareUsers?.({ rows } as unknown as Snapshot, { first: '', last: 'z' }, findings)
    expect(findings.byKind().map(({ kind }) => kind)).toEqual(kinds)
  },
)
