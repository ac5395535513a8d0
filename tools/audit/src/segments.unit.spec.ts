import { expect, it } from 'vitest'
import type { Catalog } from './catalog.ts'
import { createFindings } from './findings.ts'
import { compareSegments } from './segments.ts'
import type { Snapshot } from './snapshot.ts'

const PAYING = new Map([['paying', { trait: 'plan', is: 'pro' } as const]])
/** A catalog whose revision 1 has no segments; revisions 2 and 3 have the same one. */
const catalog: Catalog = {
  project: (_organization, _project, revision) => ({
    forms: new Map(),
    formIdsByEvent: new Map(),
    formIdsOfAnyRecord: [],
    cooldownMs: 0,
    propertyCounts: new Map(),
    segments: revision > 1 ? new Map(PAYING) : new Map(),
  }),
  latest: () => 3,
  revisionAt: () => 3,
  lastRevisionAt: () => 3,
  isKnown: (_organization, revision) => revision > 0,
  compacted: () => [],
}
const current = {
  organization: 'acme',
  project: 'shop',
  userId: 'e1c55cb5-3a47-4d0c-9a06-2d7f1f1c6a3e',
  asOf: '2026-11-02T10:00:00.000Z',
  revision: 2,
  segments: ['paying'],
  isOverdue: false,
}

const stateOf = () => ({
  traits: new Map([['plan', 'pro']]),
  device: new Map(),
  country: null,
  eventOf: () => undefined,
  answers: new Map(),
})

async function kindsOf(row: object, isAtRest = true) {
  const findings = createFindings()
  async function* rows() {
    yield { ...current, ...row }
  }
  const snapshot = { rows } as unknown as Snapshot
  await compareSegments({ snapshot, range: { first: '', last: 'z' }, catalog, isAtRest, stateOf, findings })
  return findings.byKind().map(({ kind }) => kind)
}

it('the model of segments accepts members that match the definitions', async () => {
  expect(await kindsOf({})).toEqual([])
  expect(await kindsOf({ segments: [] })).toEqual(['users.segment_members: missing'])
  expect(await kindsOf({ segments: ['paying', 'gone'] })).toEqual(['users.segment_members: wrong'])
})

it('the model of segments requires at rest the effects of time and of the latest definitions', async () => {
  const never = { asOf: null, revision: 1, segments: [] }
  expect(await kindsOf({ isOverdue: true })).toEqual(['users.users: changes_at'])
  expect(await kindsOf(never)).toEqual(['users.users: definitions'])
  expect(await kindsOf({ ...never, isOverdue: true }, false)).toEqual([])
})

it('the model of segments does not check members of a segment in a compacted revision', async () => {
  expect(await kindsOf({ revision: 2, segments: [] })).toEqual(['users.segment_members: missing'])
  expect(await kindsOf({ revision: 0, segments: [] })).toEqual([])
})

it('the model of segments refuses members that were never computed', async () => {
  expect(await kindsOf({ asOf: null })).toEqual(['users.segment_members: wrong'])
})
