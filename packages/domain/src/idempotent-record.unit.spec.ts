import { answerGiven, eventTracked, identifyRequested, visitAnswered } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { keyedRecordId, idempotentRecordOf } from './idempotent-record.ts'

describe('idempotentRecordOf (decisions.md, Retries)', () => {
  it('returns id and receipt of a record with an Idempotency-Key', () => {
    const fact = eventTracked({ keyed: true, received: '2026-11-02T10:00:00.500Z' })
    expect(idempotentRecordOf(fact)).toEqual({ id: fact.id, receivedMs: Date.UTC(2026, 10, 2, 10, 0, 0, 500) })
    const answer = answerGiven({ keyed: true, received: fact.received })
    expect(idempotentRecordOf(answer)).toEqual({ id: answer.id, receivedMs: Date.UTC(2026, 10, 2, 10, 0, 0, 500) })
  })

  it('returns undefined for a record without an Idempotency-Key', () => {
    const ids = { visitId: crypto.randomUUID(), queuedId: crypto.randomUUID(), formId: 'nps' }
    expect([eventTracked(), identifyRequested(), answerGiven(), visitAnswered(ids)].map(idempotentRecordOf)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('keyedRecordId (decisions.md, Retries)', () => {
  const parts = {
    organization: 'acme',
    project: 'shop',
    kind: 'admin',
    environment: 'P',
    route: '/v2/admin/track-event',
    key: 'order-4711',
    bodySha256: '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
  } as const

  it('is a fixed UUIDv5', () => {
    expect(keyedRecordId(parts)).toBe('b1098d83-24e3-54c4-a2b4-fcb9f1e86c9e')
  })

  it('differs if any part differs', () => {
    const others = Object.keys(parts).map((part) => keyedRecordId({ ...parts, [part]: 'other' }))
    expect(new Set([keyedRecordId(parts), ...others]).size).toBe(8)
  })

  it('separates parts that would be equal if they were only joined', () => {
    const [one, other] = [
      { ...parts, key: 'a', bodySha256: 'bc' },
      { ...parts, key: 'ab', bodySha256: 'c' },
    ]
    expect(keyedRecordId(one)).not.toBe(keyedRecordId(other))
  })
})
