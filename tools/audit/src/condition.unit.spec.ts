import { describe, expect, it } from 'vitest'
import { holds, type Moment } from './condition.ts'
import type { Value } from './facts.ts'
import type { KeptAnswers } from './kept-answers.ts'
import type { Condition } from './workspace-file.ts'

const NOW = Date.parse('2026-11-02T10:00:00.000Z')
const DAY = 86_400_000

function keptAnswers(answers: Readonly<Record<string, Value>>): KeptAnswers {
  const otherOffers = new Map<string, boolean>()
  const state = { offerId: '', status: 'partial', keptSince: '', endedAt: null }
  return { ...state, answers: new Map(Object.entries(answers)), otherOffers }
}

const moment: Moment = {
  at: NOW,
  traits: new Map<string, string | number | string[]>([
    ['plan', 'pro'],
    ['logins', 3],
    ['tags', ['a', 'b']],
    ['renews', '2026-10-03'],
  ]),
  device: new Map([['$deviceOs', 'iOS']]),
  country: 'DE',
  answers: new Map([['nps', keptAnswers({ score: 4, reason: null, uses: ['work', null] })]]),
  eventOf: (slug) => (slug === 'signed_in' ? { count: 4, latest: [NOW - 8 * DAY, NOW - DAY, NOW] } : undefined),
  segments: new Map<string, Condition>([['paying', { trait: 'plan', in: ['pro', 'business'] }]]),
}

describe('a condition in the audit', () => {
  it.each<Condition>([
    { all: [] },
    { not: { any: [] } },
    { segment: 'paying' },
    { answer: { form: 'nps', element: 'score' }, atMost: 6 },
    { answer: { form: 'nps', element: 'reason' }, exists: true },
    { answer: { form: 'nps', element: 'uses' }, contains: 'work' },
    { answer: { form: 'other', element: 'score' }, exists: false },
    { all: [{ country: 'DE' }, { country: { notIn: ['AT'] } }, { device: '$deviceOs', is: 'iOS' }] },
    { device: '$countryCode', is: 'DE' },
    { trait: 'tags', contains: 'b' },
    { trait: 'plan', startsWith: 'p' },
    { trait: 'logins', atLeast: 3 },
    { trait: 'missing', isNot: 'x' },
    { trait: 'missing', exists: false },
    { trait: 'renews', before: '-30d' },
    { event: 'Signed In', exactly: 4 },
    { event: 'signed_in', exactly: 2, within: '7d' },
    { event: 'never', atMost: 0 },
  ])('holds: %j', (condition) => {
    expect(holds(condition, moment)).toBe(true)
    expect(holds({ not: condition }, moment)).toBe(false)
  })

  it.each<Condition>([
    { any: [] },
    { segment: 'gone' },
    { country: { isNot: 'DE' } },
    { trait: 'tags', is: 'a' },
    { trait: 'logins', is: '3' },
    { trait: 'logins', moreThan: 3 },
    { trait: 'missing', lessThan: 3 },
    { trait: 'renews', after: '-29d' },
    { trait: 'plan', before: '-1s' },
    { event: 'signed_in', atLeast: 3, within: '7d' },
  ])('does not hold: %j', (condition) => {
    expect(holds(condition, moment)).toBe(false)
  })

  it('follows a chain of the maximum number of segments, each referring to the previous one twice', () => {
    const chain = Array.from({ length: 5_000 }, (_, index): [string, Condition] => {
      const before = { segment: `after-${index - 1}` }
      return [`after-${index}`, index === 0 ? { segment: 'paying' } : { all: [before, { not: { not: before } }] }]
    })
    const chained = { ...moment, segments: new Map([...moment.segments, ...chain]) }
    expect(holds({ segment: 'after-4999' }, chained)).toBe(true)
  })
})
