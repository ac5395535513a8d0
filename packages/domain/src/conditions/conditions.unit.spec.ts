import type { Condition, TraitValue } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileCondition } from './conditions.ts'
import {
  answersTo,
  DAY,
  eventContext,
  formIndex,
  history,
  HOUR,
  NOW,
  type UserInput,
  userState,
} from '../../test/form-fixtures.ts'
import { evaluateForms } from '../forms/evaluate-forms.ts'

const noSegments = () => false
const holds = (condition: Condition, user: UserInput) =>
  compileCondition(condition)(userState(user), NOW, noSegments).holds
const withTrait = (value: TraitValue | undefined) => ({ traits: new Map(value === undefined ? [] : [['t', value]]) })

type TraitRow = readonly [leaf: object, value: TraitValue | undefined, holds: boolean]
/** forms.md, Conditions: the operators on traits. */
const traitRows: readonly TraitRow[] = [
  [{ is: 'pro' }, 'pro', true],
  [{ is: 'pro' }, 'Pro', false],
  [{ is: 5 }, '5', false],
  [{ is: 'pro' }, undefined, false],
  [{ is: 'pro' }, ['pro'], false],
  [{ isNot: 'pro' }, 'free', true],
  [{ isNot: 'pro' }, 'pro', false],
  [{ isNot: 'pro' }, undefined, true],
  [{ isNot: 'pro' }, 5, true],
  [{ in: ['a', 1] }, 1, true],
  [{ in: ['a', 1] }, '1', false],
  [{ in: ['a'] }, undefined, false],
  [{ notIn: ['a'] }, 'b', true],
  [{ notIn: ['a'] }, 'a', false],
  [{ notIn: ['a'] }, undefined, true],
  [{ contains: 'ell' }, 'hello', true],
  [{ contains: 'ELL' }, 'hello', false],
  [{ contains: 'a' }, ['a', 'b'], true],
  [{ contains: 'a' }, ['ab'], false],
  [{ contains: 'a' }, 5, false],
  [{ startsWith: 'he' }, 'hello', true],
  [{ startsWith: 'lo' }, 'hello', false],
  [{ startsWith: 'he' }, undefined, false],
  [{ startsWith: 'he' }, ['hello'], false],
  [{ exists: true }, 'x', true],
  [{ exists: true }, null, true],
  [{ exists: true }, undefined, false],
  [{ exists: false }, undefined, true],
  [{ exists: false }, 0, false],
  [{ atLeast: 5 }, 5, true],
  [{ atLeast: 5 }, 4, false],
  [{ atLeast: 5 }, '5', false],
  [{ atMost: 5 }, 5, true],
  [{ atMost: 5 }, 5.1, false],
  [{ atMost: 5 }, undefined, false],
  [{ moreThan: 5 }, 5, false],
  [{ moreThan: 5 }, 5.1, true],
  [{ lessThan: 5 }, 5, false],
  [{ lessThan: 5 }, -1, true],
  [{ before: '2026-01-01T00:00:00Z' }, '2025-12-31', true],
  [{ before: '2026-01-01T00:00:00Z' }, '2026-01-01', false],
  [{ before: '2026-01-01T00:00:00Z' }, '2026-01-01T00:30:00+0100', true],
  [{ before: '2026-01-01T00:00:00Z' }, 'yesterday', false],
  [{ before: '2026-03-10T00:00:00Z' }, '2026-02-31', false],
  [{ before: '2026-01-01T00:00:00Z' }, 0, false],
  [{ before: '2026-01-01T00:00:00Z' }, undefined, false],
  [{ after: '2026-01-01T00:00:00Z' }, '2026-01-02', true],
  [{ after: '2026-01-01T00:00:00Z' }, '2026-01-01', false],
  [{ after: '-30d' }, new Date(NOW - 30 * DAY + 1).toISOString(), true],
  [{ after: '-30d' }, new Date(NOW - 30 * DAY).toISOString(), false],
  [{ before: '-30d' }, new Date(NOW - 30 * DAY - 1).toISOString(), true],
  [{ before: '-30d' }, new Date(NOW - 30 * DAY).toISOString(), false],
  [{ after: '-30d' }, undefined, false],
]

describe('a condition on a trait', () => {
  it.each(traitRows)('%j of %j: %s', (leaf, value, expected) => {
    expect(holds({ trait: 't', ...leaf }, withTrait(value))).toBe(expected)
  })

  it('may name a slug such as __proto__', () => {
    expect(holds({ trait: '__proto__', exists: false }, {})).toBe(true)
    expect(holds({ trait: 'constructor', exists: true }, {})).toBe(false)
    expect(holds({ trait: '__proto__', is: 'x' }, { traits: new Map([['__proto__', 'x']]) })).toBe(true)
  })
})

const occurred = (...times: number[]) => ({ events: new Map([['search_done', history(times)]]) })

describe('a condition on device, country and events', () => {
  const german = { device: { $countryCode: 'DE', $deviceOs: 'iOS' } as const }
  const searched = occurred(NOW - 8 * DAY, NOW - DAY, NOW)
  const often = (times: number) => occurred(...Array.from({ length: times }, (_, ago) => NOW - times + ago))
  const rows: readonly (readonly [Condition, UserInput, boolean])[] = [
    [{ device: '$deviceOs', is: 'iOS' }, german, true],
    [{ device: '$deviceOs', notIn: ['iOS'] }, german, false],
    [{ device: '$browser', exists: false }, german, true],
    [{ device: '$deviceOs', exists: true }, german, true],
    [{ device: '$deviceOs', is: 'ios' }, german, false],
    [{ device: '$deviceOs', isNot: 'iOS' }, german, false],
    [{ device: '$browser', isNot: 'Firefox' }, german, true],
    [{ device: '$deviceOs', in: ['Android', 'iOS'] }, german, true],
    [{ device: '$browser', in: ['Firefox'] }, german, false],
    [{ device: '$browser', notIn: ['Firefox'] }, german, true],
    [{ country: 'DE' }, german, true],
    [{ country: 'DE' }, {}, false],
    [{ country: { in: ['AT', 'DE'] } }, german, true],
    [{ country: { isNot: 'DE' } }, {}, true],
    [{ country: { is: 'DE' } }, german, true],
    [{ country: { notIn: ['AT', 'DE'] } }, german, false],
    [{ country: { notIn: ['AT'] } }, {}, true],
    [{ country: { exists: true } }, german, true],
    [{ country: { exists: false } }, german, false],
    [{ event: 'search_done', atLeast: 3 }, searched, true],
    [{ event: 'Search Done', atLeast: 3 }, searched, true],
    [{ event: 'search_done', atLeast: 3, within: '7d' }, searched, false],
    [{ event: 'search_done', exactly: 2, within: '7d' }, searched, true],
    [{ event: 'search_done', exactly: 1, within: '1d' }, searched, true],
    [{ event: 'search_done', atLeast: 1, within: '1h' }, occurred(NOW - HOUR), false],
    [{ event: 'search_done', atLeast: 1, within: '1h' }, occurred(NOW - HOUR + 1), true],
    [{ event: 'search_done', atLeast: 1, within: '1h' }, occurred(NOW), true],
    [{ event: 'search_done', atLeast: 1, within: '1h' }, occurred(NOW + 1), false],
    [{ event: 'search_done', atMost: 2 }, searched, false],
    [{ event: 'search_done', atMost: 1, within: '1d' }, searched, true],
    [{ event: 'search_done', exactly: 50, within: '1d' }, often(50), true],
    [{ event: 'search_done', exactly: 50, within: '1d' }, often(80), false],
    [{ event: 'search_done', atMost: 50, within: '1d' }, often(50), true],
    [{ event: 'search_done', atMost: 50, within: '1d' }, often(80), false],
    [{ event: 'search_done', atLeast: 50, within: '1d' }, often(80), true],
    [{ event: 'never', exactly: 0 }, searched, true],
    [{ event: 'never', atMost: 2 }, searched, true],
    [{ event: 'constructor', exactly: 0 }, searched, true],
  ]
  it.each(rows)('%j', (condition, user, expected) => expect(holds(condition, user)).toBe(expected))
})

const of = (element: string, form = 'nps') => ({ answer: { form, element } })

describe('a condition on an answer', () => {
  const answers = { score: 4, reason: null, uses: ['work', null], contact: false }
  const answered = { answers: answersTo('nps', answers, { isFinished: false }) }
  const rows: readonly (readonly [Condition, UserInput, boolean])[] = [
    [{ ...of('score'), atMost: 6 }, answered, true],
    [{ ...of('score'), atMost: 3 }, answered, false],
    [{ ...of('score'), atMost: 6 }, {}, false],
    [{ ...of('score', 'other'), atMost: 6 }, answered, false],
    [{ ...of('score', 'other'), exists: false }, answered, true],
    [{ ...of('reason'), exists: true }, answered, true],
    [{ ...of('uses'), contains: 'work' }, answered, true],
    [{ ...of('uses'), contains: 'home' }, answered, false],
    [{ ...of('contact'), is: false }, answered, true],
    [{ ...of('constructor'), exists: false }, answered, true],
  ]
  it.each(rows)('%j', (condition, user, expected) => expect(holds(condition, user)).toBe(expected))
})

const decide = (segments: { id: string; where: Condition }[]) =>
  evaluateForms(
    formIndex([{ audience: { segment: 'payers' } }], { segments }),
    userState({ traits: new Map([['plan', 'pro']]) }),
    eventContext(),
  )[0]?.outcome

describe('a condition on a segment', () => {
  it("holds if the segment's own condition does", () => {
    expect(decide([{ id: 'payers', where: { trait: 'plan', is: 'pro' } }])).toBe('queued')
    expect(decide([{ id: 'payers', where: { not: { trait: 'plan', is: 'pro' } } }])).toBe('not-queued')
  })

  it('holds for no user if the segment is unknown or depends on itself', () => {
    expect(decide([])).toBe('not-queued')
    expect(decide([{ id: 'payers', where: { segment: 'payers' } }])).toBe('not-queued')
  })
})

/** By recursion over the tree as it is written, over a list: as naive as can be. */
function naive(condition: Condition, pairs: readonly (readonly [string, TraitValue])[]): boolean {
  if ('all' in condition) return !condition.all.some((child) => !naive(child, pairs))
  if ('any' in condition) return condition.any.filter((child) => naive(child, pairs)).length > 0
  if ('not' in condition) return !naive(condition.not, pairs)
  if (!('trait' in condition)) throw new Error('only traits are drawn')
  const pair = pairs.find(([slug]) => slug === condition.trait)
  if (condition.is !== undefined) return pair !== undefined && pair[1] === condition.is
  if (condition.isNot !== undefined) return pair === undefined || pair[1] !== condition.isNot
  if (condition.exists !== undefined) return condition.exists === Boolean(pair)
  return typeof pair?.[1] === 'number' && pair[1] >= (condition.atLeast ?? 0)
}

describe('a tree of conditions', () => {
  const slugs = ['a', 'b', '__proto__']
  const leaf = fc.oneof(
    fc.record({ trait: fc.constantFrom(...slugs), is: fc.constantFrom('x', 'y', 1) }),
    fc.record({ trait: fc.constantFrom(...slugs), isNot: fc.constantFrom('x', 'y', 1) }),
    fc.record({ trait: fc.constantFrom(...slugs), exists: fc.boolean() }),
    fc.record({ trait: fc.constantFrom(...slugs), atLeast: fc.integer({ min: 0, max: 2 }) }),
  )
  const { tree } = fc.letrec<{ tree: Condition }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.record({ all: fc.array(tie('tree'), { maxLength: 3 }) }),
      fc.record({ any: fc.array(tie('tree'), { maxLength: 3 }) }),
      fc.record({ not: tie('tree') }),
    ),
  }))
  const traits = fc.uniqueArray(
    fc.tuple(fc.constantFrom(...slugs), fc.constantFrom<TraitValue>('x', 'y', 0, 1, 2, null, [1])),
    {
      selector: ([slug]) => slug,
    },
  )

  it('holds exactly if a naive evaluation holds', () => {
    fc.assert(
      fc.property(tree, traits, (condition, pairs) => {
        expect(holds(condition, { traits: new Map(pairs) })).toBe(naive(condition, pairs))
      }),
    )
  })
})
