import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createStore } from './store.ts'
import { sweep } from './sweep.ts'

const HOUR_MS = 3_600_000
const NOW = Date.parse('2026-11-26T12:00:00Z')

/** Values of `localStorage`, which are its own enumerable members. */
let stored: Record<string, string>
beforeEach(() => {
  vi.useFakeTimers({ now: NOW })
  stored = Object.create({
    getItem: (name: string) => stored[name] ?? null,
    setItem: (name: string, value: string) => void (stored[name] = value),
    removeItem: (name: string) => void delete stored[name],
  }) as typeof stored
  vi.stubGlobal('localStorage', stored)
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const keyOf = (ageMs: number) => `${NOW - ageMs}-1`

/** Stores an event of a user, and returns its name. */
function givenEvent(user: string, ageMs: number, characters = 100): string {
  const name = `event:${NOW - ageMs}-${Math.random()}`
  createStore(`nextvisit:${user}:`).set(name, 'x'.repeat(characters))
  return `nextvisit:${user}:${name}`
}

describe('stored values', () => {
  it.each([
    ['event', HOUR_MS, (key: string): [string, string] => [`event:${key}`, '{}']],
    ['form', 720 * HOUR_MS, (key: string): [string, string] => [`form:${key}`, '0 nps']],
    ['visit', 24 * HOUR_MS, (key: string): [string, string] => ['visit', key]],
    ['retry', 2 * HOUR_MS, (key: string): [string, string] => ['retry', `${key.split('-')[0]} 300000 9`]],
  ])('of any user are removed after their time: %s', (_kind, maxAgeMs, valueOf) => {
    for (const [user, ageMs] of [
      ['young', maxAgeMs - 1_000],
      ['old', maxAgeMs + 1_000],
      ['ahead', -maxAgeMs - 1_000],
    ] as const)
      createStore(`nextvisit:${user}:`).set(...valueOf(`${NOW - ageMs}-1`))
    sweep()
    expect(Object.keys(stored).map((name) => name.split(':')[1])).toEqual(['young'])
  })

  it('are at most 100 of a kind over all users: the newest', () => {
    const names = Array.from({ length: 250 }, (_, at) => givenEvent(`user-${at % 50}`, 1_000 * at))
    sweep()
    expect(new Set(Object.keys(stored))).toEqual(new Set(names.slice(0, 100)))
  })

  it.each(['foo', '', 'NaN-1'])('of another script, such as `event:%s`, cost no newer value its place', (key) => {
    const names = Array.from({ length: 250 }, (_, at) => {
      stored[`nextvisit:theirs-${at}:event:${key}`] = 'foo'
      // Young and old ones take turns.
      return givenEvent(`user-${at}`, 1_000 * ((at * 101) % 250))
    })
    sweep()
    const ages = names.map((_, at) => (at * 101) % 250)
    expect(new Set(Object.keys(stored))).toEqual(new Set(names.filter((_, at) => (ages[at] ?? 0) < 100)))
  })

  it('have at most 500,000 characters over all users: the newest', () => {
    const large = Array.from({ length: 40 }, (_, at) => givenEvent(`user-${at}`, 1_000 * at, 32_000))
    sweep()
    const left = Object.keys(stored)
    expect(new Set(left)).toEqual(new Set(large.slice(0, left.length)))
    expect(left).toHaveLength(15)
  })

  it('that the gateway lacks get room first: answers, then events, then what visits need, then forms', () => {
    const store = createStore('nextvisit:user:')
    store.set('visit', keyOf(3_000))
    store.set(`event:${keyOf(2_000)}`, 'x'.repeat(200_000))
    store.set(`answers:${keyOf(4_000)}`, 'x'.repeat(230_000))
    for (const ageMs of [0, 1_000, 5_000]) store.set(`form:${keyOf(ageMs)}`, 'x'.repeat(65_000))
    sweep()
    const left = Object.keys(stored).map((name) => name.replace('nextvisit:user:', ''))
    expect(left).toEqual(['visit', `event:${keyOf(2_000)}`, `answers:${keyOf(4_000)}`, `form:${keyOf(0)}`])
  })

  it('of another application are left alone, and unreadable ones are removed', () => {
    for (const name of ['theirs', 'nextvisit', 'nextvisit:a:other:1', 'my-nextvisit:a:event:1']) stored[name] = 'x'
    stored['nextvisit:a:event:garbage'] = 'x'
    sweep()
    expect(Object.keys(stored)).toEqual(['theirs', 'nextvisit', 'nextvisit:a:other:1', 'my-nextvisit:a:event:1'])
  })

  it('that are blocked are left alone', () => {
    vi.stubGlobal('localStorage', undefined)
    expect(sweep).not.toThrow()
  })
})
