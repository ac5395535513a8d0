import { describe, expect, it } from 'vitest'
import { createCopies } from './copies.ts'
import type { UserFact } from './facts.ts'

const keyed = (id: string, received: string) => ({ type: 'EventTracked', keyed: true, id, received }) as UserFact

describe('copies of keyed records', () => {
  it('are those less than a day younger than the first', () => {
    const isCopy = createCopies()
    expect(isCopy(0, keyed('a', '2026-11-02T10:00:00.000Z'))).toBe(false)
    expect(isCopy(0, keyed('a', '2026-11-02T10:00:01.000Z'))).toBe(true)
    expect(isCopy(0, keyed('a', '2026-11-03T09:59:59.999Z'))).toBe(true)
    expect(isCopy(0, keyed('a', '2026-11-03T10:00:00.000Z'))).toBe(false)
    expect(isCopy(0, keyed('a', '2026-11-03T10:00:01.000Z'))).toBe(true)
  })

  it('are, of an imported record, those at any time', () => {
    const isCopy = createCopies()
    const imported = (received: string) => ({ ...keyed('a', received), keyed: false, imported: true }) as UserFact
    expect(isCopy(0, imported('2026-11-02T10:00:00.000Z'))).toBe(false)
    expect(isCopy(0, imported('2028-01-01T10:00:00.000Z'))).toBe(true)
    expect(isCopy(0, keyed('b', '2028-01-01T10:00:00.000Z'))).toBe(false)
  })

  it('are none where no key was given', () => {
    const isCopy = createCopies()
    const fact = { ...keyed('a', '2026-11-02T10:00:00.000Z'), keyed: false } as UserFact
    expect([isCopy(0, fact), isCopy(0, fact)]).toEqual([false, false])
  })
})
