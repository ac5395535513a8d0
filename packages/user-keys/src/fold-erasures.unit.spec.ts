import type { ErasureRequested, SuppressionLifted } from '@nextvisit/contracts'
import { uuidV5 } from '@nextvisit/domain'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createErasureFold } from './fold-erasures.ts'
import { isSuppressionPlace } from './suppressions.ts'

const NAMESPACE = 'e1c55cb5-3a47-5d0c-9a06-2d7f1f1c6a3e'
const idOf = (name: string) => uuidV5(name, NAMESPACE)
const place = { organization: 'acme', project: 'shop' }
const [ADA, BOB] = [idOf('ada'), idOf('bob')] as const
const T0 = Date.parse('2026-11-02T10:00:00.000Z')
const at = (seconds: number) => new Date(T0 + seconds * 1_000).toISOString()

function requested(name: string, fields: Partial<ErasureRequested> = {}): ErasureRequested {
  const own = { type: 'ErasureRequested', id: idOf(name), ...place, received: at(0), unknown: 0 } as const
  return { ...own, userIds: [ADA], suppress: true, ...fields }
}

function lifted(userId: string): SuppressionLifted {
  return { type: 'SuppressionLifted', id: idOf('lift'), ...place, userId, received: at(0) }
}

function thousandUsers(nth: number): string[] {
  return Array.from({ length: 1_000 }, (_, index) => `user ${nth} ${index}`)
}

describe('the fold of erasures', () => {
  it('suppresses users until the suppression is lifted, in their project only', () => {
    const { fold, isSuppressed, suppressedUsers } = createErasureFold()
    fold(requested('one', { suppress: false }), 0n)
    expect(isSuppressed({ ...place, userId: ADA })).toBe(false)
    fold(requested('two', { userIds: [ADA, BOB] }), 1n)
    fold(requested('three'), 2n)
    expect(isSuppressed({ ...place, userId: ADA })).toBe(true)
    expect(isSuppressed({ ...place, project: 'blog', userId: ADA })).toBe(false)
    expect(suppressedUsers()).toBe(2)
    expect([place, { ...place, project: 'blog' }].map(suppressedUsers)).toEqual([2, 0])
    fold(lifted(ADA), 3n)
    fold(lifted(ADA), 4n)
    expect([ADA, BOB].map((userId) => isSuppressed({ ...place, userId }))).toEqual([false, true])
    expect(suppressedUsers()).toBe(1)
  })

  it('keeps the first request of an id, so a repeat suppresses nobody again', () => {
    const { fold, isSuppressed, requested: read } = createErasureFold()
    fold(requested('one', { userIds: [ADA, BOB], unknown: 1 }), 0n)
    fold(lifted(ADA), 1n)
    fold(requested('one', { received: at(60) }), 2n)
    expect(isSuppressed({ ...place, userId: ADA })).toBe(false)
    expect(read(place, idOf('one'))).toMatchObject({ users: 2, unknown: 1, received: at(0) })
    expect(read({ ...place, project: 'blog' }, idOf('one'))).toBeUndefined()
  })

  it('drops a copy of a request that comes years later', () => {
    const { fold, isSuppressed, keysUntilOf, requested: read } = createErasureFold()
    const years = 1_000 * 86_400
    fold(requested('one'), 0n)
    fold(lifted(ADA), 1n)
    fold(requested('two', { userIds: [BOB], received: at(years) }), 2n)
    fold(requested('one', { received: at(years) }), 3n)
    expect(isSuppressed({ ...place, userId: ADA })).toBe(false)
    expect([keysUntilOf(ADA), read(place, idOf('one'))]).toEqual([undefined, undefined])
  })

  it('lists suppressions in the order of their requests, with the first request of a user', () => {
    const { fold, suppressionsOf } = createErasureFold()
    fold(requested('one', { userIds: [BOB], received: at(1) }), 7n)
    fold(requested('two', { userIds: [ADA, BOB], received: at(2) }), 12n)
    const first = suppressionsOf({ ...place, limit: 1 })
    expect(first).toEqual({
      suppressions: [{ userId: BOB, since: at(1), erasureId: idOf('one') }],
      next: '7-0',
    })
    const second = suppressionsOf({ ...place, limit: 1, after: '7-0' })
    expect(second).toMatchObject({ suppressions: [{ userId: ADA, erasureId: idOf('two') }], next: null })
    // The cursor stays valid after the suppression that it names has ended.
    fold(lifted(BOB), 13n)
    expect(suppressionsOf({ ...place, limit: 1, after: '7-0' })).toEqual(second)
  })

  it('forgets fences after eight days and requests after one', () => {
    const { fold, keysUntilOf, requested: read } = createErasureFold()
    fold(requested('one'), 0n)
    expect(keysUntilOf(ADA)).toBe(T0 + 60_000)
    fold(requested('two', { userIds: [BOB], received: at(86_401) }), 1n)
    expect([read(place, idOf('one')), keysUntilOf(ADA)]).toEqual([undefined, T0 + 60_000])
    fold(requested('three', { userIds: [BOB], received: at(60 + 8 * 86_400) }), 2n)
    expect(keysUntilOf(ADA)).toBe(T0 + 60_000)
    fold(requested('four', { userIds: [BOB], received: at(60 + 8 * 86_400 + 1) }), 3n)
    expect(keysUntilOf(ADA)).toBeUndefined()
  })

  it('covers the newest key of a gateway whose clock is ahead, and is kept until the clock has passed it', () => {
    const { fold, keysUntilOf } = createErasureFold()
    const day = 86_400
    fold(requested('one', { newestKeyAt: at(30 * day) }), 0n)
    expect(keysUntilOf(ADA)).toBe(T0 + 30 * day * 1_000 + 60_000)
    fold(requested('two', { userIds: [BOB], received: at(20 * day) }), 1n)
    expect(keysUntilOf(ADA)).toBeDefined()
    fold(requested('three', { userIds: [BOB], received: at(39 * day) }), 2n)
    expect(keysUntilOf(ADA)).toBeUndefined()
  })

  it('keeps the last fences', () => {
    const { fold, keysUntilOf } = createErasureFold({ maxFences: 1_000 })
    fold(requested('one', { userIds: [ADA, BOB] }), 0n)
    fold(requested('two', { userIds: thousandUsers(1).slice(1) }), 1n)
    expect([ADA, BOB].map(keysUntilOf)).toEqual([undefined, T0 + 60_000])
  })

  it('knows the last ids: an older copy suppresses again, and moves the fence to no earlier key', () => {
    const { fold, isSuppressed, keysUntilOf } = createErasureFold({ maxIds: 2 })
    const copy = requested('one', { received: at(3) })
    fold(requested('one'), 0n)
    fold(lifted(ADA), 1n)
    fold(requested('two', { userIds: [BOB] }), 2n)
    fold(copy, 3n)
    expect([isSuppressed({ ...place, userId: ADA }), keysUntilOf(ADA)]).toEqual([false, T0 + 60_000])
    fold(requested('three', { userIds: [BOB] }), 4n)
    fold(copy, 5n)
    expect([isSuppressed({ ...place, userId: ADA }), keysUntilOf(ADA)]).toEqual([true, T0 + 120_000])
  })

  it('keeps the last 100,000 requests', () => {
    const { fold, requested: read } = createErasureFold()
    const one = requested('one', { suppress: false })
    for (let nth = 0; nth <= 100_000; nth += 1) fold({ ...one, id: `${nth}` }, BigInt(nth))
    expect(['0', '1'].map((id) => read(place, id)?.id)).toEqual([undefined, '1'])
  })

  it('tells who was erased, once it knows it', () => {
    const { fold, onErased, keysUntilOf } = createErasureFold()
    const told: unknown[] = []
    onErased((userIds) => told.push(userIds.map((userId) => [userId, keysUntilOf(userId)])))
    fold(requested('one', { userIds: [ADA, BOB] }), 0n)
    fold(lifted(ADA), 1n)
    expect(told).toEqual([
      [
        [ADA, T0 + 60_000],
        [BOB, T0 + 60_000],
      ],
    ])
  })

  it('moves the fence of a user forward with each erasure, even in the same instant', () => {
    const { fold, keysUntilOf } = createErasureFold()
    for (const [nth, name] of ['one', 'two', 'three'].entries()) fold(requested(name), BigInt(nth))
    expect(keysUntilOf(ADA)).toBe(T0 + 180_000)
  })

  it('returns each suppression once, on pages of any size, as a model does', () => {
    const users = ['a', 'b', 'c', 'd', 'e'].map(idOf)
    const user = fc.constantFrom(...users)
    const steps = fc.oneof(
      fc.record({ userIds: fc.uniqueArray(user, { minLength: 1 }), suppress: fc.boolean() }),
      fc.record({ lift: user }),
    )
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 20 }), fc.integer({ min: 1, max: 4 }), (commands, limit) => {
        const { fold, isSuppressed, suppressionsOf, suppressedUsers } = createErasureFold()
        const model = new Set<string>()
        for (const [nth, command] of commands.entries()) {
          if ('lift' in command) {
            model.delete(command.lift)
            fold(lifted(command.lift), BigInt(nth))
          } else {
            if (command.suppress) for (const one of command.userIds) model.add(one)
            fold(requested(String(nth), command), BigInt(nth))
          }
        }
        const listed: string[] = []
        let after: string | undefined
        do {
          const page = suppressionsOf({ ...place, limit, after })
          expect(page.suppressions.length).toBeLessThanOrEqual(limit)
          listed.push(...page.suppressions.map(({ userId }) => userId))
          after = page.next ?? undefined
          expect(after === undefined || isSuppressionPlace(after)).toBe(true)
        } while (after !== undefined)
        expect(listed).toEqual([...model])
        expect(suppressedUsers()).toBe(model.size)
        expect(users.filter((userId) => isSuppressed({ ...place, userId }))).toEqual(
          users.filter((one) => model.has(one)),
        )
      }),
    )
  })
})
