import { segmentEntered, segmentLeft } from '@nextvisit/contracts/fixtures'
import { expect, it } from 'vitest'
import { createFindings } from './findings.ts'
import type { SegmentFact } from './facts.ts'
import { createSegmentChangesModel } from './segment-changes.ts'
import type { Snapshot } from './snapshot.ts'

const [entered, left] = [segmentEntered({ causeOffset: 1 }), segmentLeft({ causeOffset: 2 })]
const { organization, project, userId, segmentId } = entered
const member = { organization, project, userId, segmentId }

interface Compared {
  readonly changes?: readonly object[]
  /** Perhaps newer than the rows. */
  readonly later?: readonly object[]
  readonly members?: readonly object[]
  /** The offset of an erasure that was folded. */
  readonly erasedAt?: number
}

async function kindsOf({ changes = [], later = [], members = [], erasedAt = 0 }: Compared): Promise<readonly string[]> {
  const findings = createFindings()
  const model = createSegmentChangesModel({ isErased: ({ causeOffset }) => causeOffset < erasedAt, findings })
  for (const fact of changes) model.foldSegment(fact as SegmentFact, { isLater: false })
  for (const fact of later) model.foldSegment(fact as SegmentFact, { isLater: true })
  const snapshot = {
    rows: async function* () {
      yield* members
    },
  } as unknown as Snapshot
  await model.compareUsers?.(snapshot, { first: '', last: 'z' }, findings)
  return findings.byKind().map(({ kind }) => kind)
}

it('the model of changed memberships compares each membership with the last record of its user and segment', async () => {
  expect(await kindsOf({ changes: [entered], members: [member] })).toEqual([])
  expect(await kindsOf({ changes: [entered, left] })).toEqual([])
  expect(await kindsOf({ changes: [entered] })).toEqual(['form-events: no SegmentLeft'])
  expect(await kindsOf({ changes: [entered, left], members: [member] })).toEqual(['form-events: no SegmentEntered'])
  expect(await kindsOf({ members: [member] })).toEqual(['form-events: no SegmentEntered'])
})

it('the model of changed memberships counts the first copy of a record', async () => {
  expect(await kindsOf({ changes: [entered, left, entered] })).toEqual([])
})

it('the model of changed memberships ends them with an erasure', async () => {
  const again = segmentEntered({ causeOffset: 6 })
  expect(await kindsOf({ changes: [entered], erasedAt: 5 })).toEqual([])
  expect(await kindsOf({ changes: [again, entered], erasedAt: 5, members: [member] })).toEqual([])
})

it('the model of changed memberships compares none with a record that may be newer than the rows', async () => {
  expect(await kindsOf({ changes: [entered], later: [left] })).toEqual([])
  expect(await kindsOf({ changes: [entered], later: [left], members: [member] })).toEqual([])
})
