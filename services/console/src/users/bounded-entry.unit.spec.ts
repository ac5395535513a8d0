import { describe, expect, it } from 'vitest'
import type { TimelineEntry } from './api.ts'
import { boundedEntry, bytesOfEntry, entriesWithin } from './bounded-entry.ts'

const entryOf = (values: readonly string[], title = 'Event Checkout'): TimelineEntry => ({
  id: 'one',
  at: '2026-11-23T03:00:00.000Z',
  kind: 'event',
  title,
  details: values.map((value, nth) => ({ name: `property ${nth}`, value, withInstants: false })),
  requestId: null,
})

describe('an entry of the timeline', () => {
  it('stays as it is if it is short', () => {
    const entry = entryOf(['pro', '😀'.repeat(500)])
    expect(boundedEntry(entry)).toEqual(entry)
  })

  it('has the first 500 characters of a long value, and the size of the whole one', () => {
    const [detail] = boundedEntry(entryOf(['😀'.repeat(501)])).details
    expect(detail).toEqual({ name: 'property 0', value: '😀'.repeat(500), withInstants: false, cutFromBytes: 2_004 })
  })

  it('has as many values as fit, and the number of the others', () => {
    const { details, moreDetails } = boundedEntry(entryOf(Array.from({ length: 30 }, () => 'x'.repeat(31_000))))
    expect(details.length + (moreDetails ?? 0)).toBe(30)
    expect(details.length).toBeLessThan(10)
  })

  it('is bounded in bytes, whatever a record contains', () => {
    const texts = Array.from({ length: 10_000 }, () => '\u0001'.repeat(1_000))
    expect(bytesOfEntry(boundedEntry(entryOf(texts, '字'.repeat(1_000_000))))).toBeLessThan(40_000)
  })
})

describe('the entries of an answer', () => {
  it('are the newest that fit in its bytes', () => {
    const entries = Array.from({ length: 10 }, () => entryOf(['pro']))
    const bytes = bytesOfEntry(entryOf(['pro']))
    expect(entriesWithin(entries, 10 * bytes)).toHaveLength(10)
    expect(entriesWithin(entries, 4 * bytes + 1)).toHaveLength(4)
    expect(entriesWithin(entries, 1)).toEqual([])
  })
})
