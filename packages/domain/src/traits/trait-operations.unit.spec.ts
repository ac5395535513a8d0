import type { TraitOperations, TraitValue } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { traitBytesOf } from './trait-limits.ts'
import { registeringSlugs } from './custom-slugs.ts'
import { EMPTY_PROFILE, type Profile } from './profile.ts'
import { applyTraitOperations } from './trait-operations.ts'
import { toTraitOperations, traitChangesOf } from './trait-operators.ts'

const sized = (traits: ReadonlyMap<string, TraitValue>): Profile => ({
  ...EMPTY_PROFILE,
  traits,
  traitBytes: [...traits].reduce((sum, [slug, value]) => sum + traitBytesOf(slug, value), 0),
})

const given = (traits: Record<string, TraitValue>) => ({
  when: (operations: TraitOperations) => {
    const { profile, skipped } = applyTraitOperations(sized(new Map(Object.entries(traits))), operations)
    return { traits: Object.fromEntries(profile.traits), skipped }
  },
})

describe('applyTraitOperations (decisions.md, Identify)', () => {
  it('sets and overwrites', () => {
    const after = given({ plan: 'free', seats: 1 }).when({ set: { plan: 'pro', tags: ['a', null] } })
    expect(after.traits).toEqual({ plan: 'pro', seats: 1, tags: ['a', null] })
  })

  it('sets with setOnce only unset traits; null is set', () => {
    const after = given({ plan: 'free', source: null }).when({ setOnce: { plan: 'pro', source: 'ad', since: 2026 } })
    expect(after.traits).toEqual({ plan: 'free', source: null, since: 2026 })
  })

  it('increments and decrements a known trait, and an unset one from 0', () => {
    const after = given({ logins: 2 }).when({ increment: { logins: 3, fresh: 1.5 }, decrement: { credit: 4 } })
    expect(after.traits).toEqual({ logins: 5, fresh: 1.5, credit: -4 })
  })

  it.each([['a text'], [true], [null], [[1]]])('skips the increment of %j', (value) => {
    const after = given({ logins: value }).when({ increment: { logins: 1 }, decrement: { logins: 1 } })
    expect(after).toEqual({ traits: { logins: value }, skipped: ['logins', 'logins'] })
  })

  it('skips an increment whose sum JSON could not hold', () => {
    const after = given({ big: 1e308 }).when({ increment: { big: 1e308 } })
    expect(after).toEqual({ traits: { big: 1e308 }, skipped: ['big'] })
  })

  it('applies set, setOnce, increment, decrement, unset in this order, whatever the order in the request', () => {
    const after = given({}).when({
      unset: ['gone'],
      decrement: { n: 1 },
      increment: { n: 5 },
      setOnce: { n: 100, gone: 1 },
      set: { n: 10 },
    })
    expect(after.traits).toEqual({ n: 14 })
  })

  it('takes __proto__ and constructor as ordinary slugs', () => {
    const operations = JSON.parse(
      '{"set":{"__proto__":"x","constructor":1},"increment":{"constructor":2,"toString":1}}',
    )
    const after = applyTraitOperations(EMPTY_PROFILE, operations as TraitOperations)
    expect([...after.profile.traits]).toEqual([
      ['__proto__', 'x'],
      ['constructor', 3],
      ['toString', 1],
    ])
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })

  it('agrees with a model of one slug, and does not change its input', () => {
    fc.assert(
      fc.property(someTraits, someOperations, (before, operations) => {
        const kept = structuredClone([...before])
        const { profile, skipped } = applyTraitOperations(sized(before), operations)
        const { traits, traitBytes } = profile
        expect(traitBytes).toBe(sized(traits).traitBytes)
        for (const slug of SLUGS) {
          const expected = modelOfOneSlug(slug, before, operations)
          const timesSkipped = skipped.filter((name) => name === slug).length
          expect({ isSet: traits.has(slug), value: traits.get(slug), timesSkipped }).toEqual(expected)
        }
        expect([...before]).toEqual(kept)
      }),
    )
  })
})

const full = (count: number) => sized(new Map(Array.from({ length: count }, (_, at) => [`t${at}`, at])))
/** So that slug and value count `bytes` together. */
const textOf = (slug: string, bytes: number) => 'x'.repeat(bytes - traitBytesOf(slug, ''))

describe('the limits of a user (decisions.md, Identify)', () => {
  it('drop the operation that would create trait 1,001; known traits can still change', () => {
    const { profile, dropped } = applyTraitOperations(full(999), {
      set: { fits: 1, tooMany: 2, t0: 'changed' },
      setOnce: { tooManyToo: 3, t1: 'kept' },
      increment: { oneMore: 1, t2: 1 },
      unset: ['t3', 'tooMany'],
    })
    expect(dropped).toEqual(['tooMany', 'tooManyToo', 'oneMore'])
    const { traits } = profile
    expect(traits.size).toBe(999)
    expect(Object.fromEntries(traits)).toMatchObject({ fits: 1, t0: 'changed', t1: 1, t2: 3 })
  })

  it('drop the operation that would exceed 262,144 bytes, and keep the value before it', () => {
    const before = sized(
      new Map([
        ['long', textOf('long', 262_144 - 20)],
        ['n', 'abc'],
      ]),
    )
    expect(before.traitBytes).toBe(262_144 - 12)
    const grown = applyTraitOperations(before, { set: { n: 'x'.repeat(15) } })
    expect(grown).toMatchObject({ profile: { traitBytes: 262_144 }, dropped: [] })
    const tooLong = applyTraitOperations(before, { set: { n: 'x'.repeat(16), long: '' }, setOnce: { m: 1 } })
    expect(tooLong.dropped).toEqual(['n'])
    expect(Object.fromEntries(tooLong.profile.traits)).toMatchObject({ n: 'abc', m: 1 })
  })

  it('count slug and value as JSON in UTF-8, and numbers as Postgres writes them out', () => {
    expect(traitBytesOf('a', 'b')).toBe(6)
    expect(traitBytesOf('ä"', ['🎉', null, 1.5])).toBe(6 + 17)
    expect(traitBytesOf('n', 1e308)).toBe(3 + 6 + 308)
    expect(traitBytesOf('n', [5e-324, 7])).toBe(3 + 10 + 324)
  })

  it('keep the same map if nothing changes, so that nothing is written', () => {
    const before = sized(
      new Map<string, TraitValue>([
        ['plan', 'pro'],
        ['tags', ['a', 1]],
        ['off', null],
      ]),
    )
    const same = { set: { plan: 'pro', tags: ['a', 1], off: null }, setOnce: { plan: 'x' }, unset: ['gone'] }
    expect(applyTraitOperations(before, same).profile.traits).toBe(before.traits)
  })
})

describe('the slugs that a record registers (decisions.md, Identify, allow-list)', () => {
  it('are the custom slugs of every operator but unset, each once', () => {
    const changes = traitChangesOf({
      set: { plan: 'pro', email: 'a@b.c', $deviceOs: 'iOS' },
      setOnce: { plan: 'free', source: 'ad' },
      increment: { logins: 1 },
      decrement: { credit: 1 },
      unset: ['old'],
    })
    expect(registeringSlugs(changes)).toEqual(['plan', 'source', 'logins', 'credit'])
  })
})

describe('the changes of a record', () => {
  it('convert back to its operations, in the order of application', () => {
    const operations = { unset: ['gone'], set: { plan: 'pro' }, decrement: { n: 1 } }
    const changes = traitChangesOf(operations)
    expect(changes.map(({ operator }) => operator)).toEqual(['set', 'decrement', 'unset'])
    expect(toTraitOperations(changes)).toEqual(operations)
  })
})

const SLUGS = ['a', 'b', 'c', '__proto__', 'constructor']
const someSlug = fc.constantFrom(...SLUGS)
const someNumber = fc.oneof(fc.integer({ min: -9, max: 9 }), fc.constantFrom(1e308, -1e308, 0.5))
const someValue: fc.Arbitrary<TraitValue> = fc.oneof(
  someNumber,
  fc.constantFrom<TraitValue[]>('text', true, null, [1, 'x']),
)
const someTraits = fc.array(fc.tuple(someSlug, someValue)).map((entries) => new Map(entries))
const members = <T>(value: fc.Arbitrary<T>) =>
  fc.array(fc.tuple(someSlug, value)).map((entries): Record<string, T> => Object.fromEntries(entries))
const someOperations: fc.Arbitrary<TraitOperations> = fc.record(
  {
    set: members(someValue),
    setOnce: members(someValue),
    increment: members(someNumber),
    decrement: members(someNumber),
    unset: fc.array(someSlug),
  },
  { requiredKeys: [] },
)

/** Written as a chain of cases for one slug, so that it shares nothing with the code but the rules. */
function modelOfOneSlug(slug: string, before: ReadonlyMap<string, TraitValue>, operations: TraitOperations) {
  const own = <T>(from: Readonly<Record<string, T>> | undefined) =>
    from && Object.hasOwn(from, slug) ? { value: from[slug] as T } : undefined
  const start = before.has(slug) ? { value: before.get(slug) as TraitValue } : undefined
  let now = own(operations.set) ?? start ?? own(operations.setOnce)
  let timesSkipped = 0
  for (const [step, sign] of [
    [own(operations.increment), 1],
    [own(operations.decrement), -1],
  ] as const) {
    if (!step) continue
    if (!now) now = { value: 0 + sign * step.value }
    else if (typeof now.value === 'number' && Math.abs(now.value + sign * step.value) <= Number.MAX_VALUE)
      now = { value: now.value + sign * step.value }
    else timesSkipped += 1
  }
  if (operations.unset?.includes(slug)) now = undefined
  return { isSet: now !== undefined, value: now?.value, timesSkipped }
}
