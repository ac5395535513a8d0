import { eventTracked, identifyRequested, visitAnswered } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { keyedRecordOf } from './keyed-record.ts'

describe('keyedRecordOf (decisions.md, Retries)', () => {
  it('tells what a copy of a keyed record is known by', () => {
    const fact = eventTracked({ keyed: true, received: '2026-11-02T10:00:00.500Z' })
    expect(keyedRecordOf(fact)).toEqual({ id: fact.id, receivedMs: Date.UTC(2026, 10, 2, 10, 0, 0, 500) })
  })

  it('tells nothing of records without an Idempotency-Key', () => {
    const ids = { visitId: crypto.randomUUID(), queuedId: crypto.randomUUID(), formId: 'nps' }
    expect([eventTracked(), identifyRequested(), visitAnswered(ids)].map(keyedRecordOf)).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })
})
