import { describe, expect, it } from 'vitest'
import { createDuplicateCheck } from './duplicates.ts'
import type { UserFact } from './facts.ts'

const keyed = (id: string, received: string) => ({ type: 'EventTracked', keyed: true, id, received }) as UserFact

describe('duplicates of idempotent records', () => {
  it('are records less than a day younger than the first', () => {
    const isDuplicate = createDuplicateCheck()
    expect(isDuplicate(0, keyed('a', '2026-11-02T10:00:00.000Z'))).toBe(false)
    expect(isDuplicate(0, keyed('a', '2026-11-02T10:00:01.000Z'))).toBe(true)
    expect(isDuplicate(0, keyed('a', '2026-11-03T09:59:59.999Z'))).toBe(true)
    expect(isDuplicate(0, keyed('a', '2026-11-03T10:00:00.000Z'))).toBe(false)
    expect(isDuplicate(0, keyed('a', '2026-11-03T10:00:01.000Z'))).toBe(true)
  })

  it('are records at any time after an imported record', () => {
    const isDuplicate = createDuplicateCheck()
    const imported = (received: string) => ({ ...keyed('a', received), keyed: false, imported: true }) as UserFact
    expect(isDuplicate(0, imported('2026-11-02T10:00:00.000Z'))).toBe(false)
    expect(isDuplicate(0, imported('2028-01-01T10:00:00.000Z'))).toBe(true)
    expect(isDuplicate(0, keyed('b', '2028-01-01T10:00:00.000Z'))).toBe(false)
  })

  it('do not exist without a key', () => {
    const isDuplicate = createDuplicateCheck()
    const fact = { ...keyed('a', '2026-11-02T10:00:00.000Z'), keyed: false } as UserFact
    expect([isDuplicate(0, fact), isDuplicate(0, fact)]).toEqual([false, false])
  })
})
