import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { NOW, SECOND } from '../../test/form-fixtures.ts'
import { segmentFactsOf } from './segment-facts.ts'
import type { SegmentChange } from './segmented-user.ts'

const user = { organization: 'acme', project: 'shop', userId: randomUUID() }
const received = new Date(NOW).toISOString()
const record = { id: randomUUID(), received }
const where = { causeOffset: 7, catalogRevision: 3 }
const entered = { type: 'SegmentEntered', segmentId: 'paying', at: NOW, cause: 'record' } satisfies SegmentChange

/** Returns the id of the change of a record, of time, or of a definition. */
function idOf(special: Partial<SegmentChange> = {}, of: Partial<Parameters<typeof segmentFactsOf>[2]> = {}): unknown {
  return segmentFactsOf(user, [{ ...entered, ...special }], { ...where, record, ...of })[0]?.id
}

it('the record of a changed membership has the same id for the same change', () => {
  const changes = ['record', 'time', 'definition'] as const
  expect(changes.map((cause) => idOf({ cause }))).toEqual(changes.map((cause) => idOf({ cause })))
  // Ticks and records notice changes of time at different places.
  expect(idOf({ cause: 'time' })).toBe(
    idOf({ cause: 'time' }, { causeOffset: 8, catalogRevision: 4, record: { ...record } }),
  )
  // A restored projector ticks at another instant.
  expect(idOf({ cause: 'definition' })).toBe(idOf({ cause: 'definition', at: NOW + SECOND }))
})

it('the record of a changed membership has another id for another change', () => {
  const later = new Date(NOW + SECOND).toISOString()
  const ids = [
    idOf(),
    idOf({ segmentId: 'other' }),
    idOf({ type: 'SegmentLeft' }),
    idOf({}, { record: { ...record, received: later } }),
    idOf({}, { record: { ...record, id: randomUUID() } }),
    idOf({ cause: 'time' }),
    idOf({ cause: 'time', at: NOW + SECOND }),
    idOf({ cause: 'definition' }),
    idOf({ cause: 'definition' }, { catalogRevision: 4 }),
  ]
  expect(new Set(ids).size).toBe(ids.length)
})
