import { describe, expect, it } from 'vitest'
import type { Value } from './facts.ts'
import { fillIn, operate, slugsOf, traitBytes } from './operate.ts'

function after(before: Record<string, Value>, operations: Parameters<typeof operate>[1]) {
  const traits = new Map(Object.entries(before))
  operate(traits, operations)
  return Object.fromEntries(traits)
}

describe('trait operations in the audit', () => {
  it('are applied in the order set, setOnce, increment, decrement, unset', () => {
    const operations = {
      unset: ['gone'],
      decrement: { n: 1 },
      increment: { n: 5 },
      setOnce: { n: 9, gone: 1, once: 2 },
      set: { n: 10 },
    }
    expect(after({}, operations)).toEqual({ n: 14, once: 2 })
  })

  it('skip traits that are not numbers, and sums that are not finite', () => {
    expect(after({ a: 'text', b: 1e308 }, { increment: { a: 1, b: 1e308, c: 1 } })).toEqual({
      a: 'text',
      b: 1e308,
      c: 1,
    })
  })

  it('fill in unset traits if they were imported', () => {
    const traits = new Map<string, Value>([['plan', null]])
    fillIn(traits, { set: { plan: 'pro', city: 'London' }, increment: { logins: 2 }, unset: ['plan', 'gone'] })
    fillIn(traits, { set: { city: 'Paris' }, increment: { logins: 3 } })
    expect(Object.fromEntries(traits)).toEqual({ plan: null, city: 'London', logins: 2 })
  })

  it.each([operate, fillIn])('are dropped beyond the limits of a user', (apply) => {
    const set = Object.fromEntries(Array.from({ length: 1_002 }, (_, at) => [`t${at}`, at]))
    const many = new Map<string, Value>()
    expect(apply(many, { set })).toBe(2)
    expect([many.size, many.has('t999'), many.has('t1000')]).toEqual([1_000, true, false])
    expect(traitBytes(many)).toBe(traitBytes(new Map(many)))

    const long = new Map<string, Value>([['long', 'x'.repeat(262_144 - 8 - 7)]])
    expect([apply(long, { set: { ä: 'xy' } }), apply(long, { set: { ä: 'x' } }), long.get('ä')]).toEqual([1, 0, 'x'])
    expect(apply(long, { set: { b: 1e21 } })).toBe(1)
  })

  it('treat __proto__ like any other slug', () => {
    const set = JSON.parse('{"__proto__": 1, "email": "x", "plan": "pro"}') as Record<string, Value>
    expect([...slugsOf({ set, unset: ['gone'] })]).toEqual(['__proto__', 'plan'])
  })
})
