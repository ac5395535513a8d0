import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { evaluateForms } from '../evaluate-forms.ts'
import {
  answersTo,
  DAY,
  eventContext,
  formIndex,
  HOUR,
  MINUTE,
  NOW,
  openForm,
  SECOND,
  type UserInput,
  userState,
} from '../../../test/form-fixtures.ts'

type FormInput = Parameters<typeof formIndex>[0][number]
type Row = readonly [
  gate: string,
  what: string,
  form: FormInput,
  user: UserInput,
  expected: string,
  formCooldown?: string,
]

const instant = (ms: number) => new Date(ms).toISOString()
const delivered = (lastAt: number, times = 1) => ({ shown: new Map([['nps', { times, lastAt }]]) })
const open = (special = {}) => ({ open: new Map([['nps', openForm(special)]]) })
const otherShown = (lastAt: number) => ({ shown: new Map([['other', { times: 1, lastAt }]]) })
const otherOpen = (special = {}) => ({ open: new Map([['other', openForm({ formId: 'other', ...special })]]) })
const always = { frequency: { repeat: 'always' as const } }
const untilAnswered = { frequency: { until: 'answered' as const } }
const daily = { frequency: { repeat: { every: '1d' } } }

/** forms.md, Gates: each row of the table, at both sides of its edge. */
const rows: readonly Row[] = [
  ['live', 'a form without dates', {}, {}, 'queued'],
  ['live', 'a disabled form', { enabled: false }, {}, 'not-live'],
  ['live', 'at startsAt', { startsAt: instant(NOW) }, {}, 'queued'],
  ['live', 'before startsAt', { startsAt: instant(NOW + 1) }, {}, 'not-live'],
  ['live', 'just before endsAt', { endsAt: instant(NOW + 1) }, {}, 'queued'],
  ['live', 'at endsAt', { endsAt: instant(NOW) }, {}, 'not-live'],
  [
    'audience',
    'the tree holds',
    { audience: { trait: 'plan', is: 'pro' } },
    { traits: new Map([['plan', 'pro']]) },
    'queued',
  ],
  ['audience', 'the tree does not hold', { audience: { trait: 'plan', is: 'pro' } }, {}, 'not-in-audience'],
  ['sample', '0 percent', { sample: 0 }, {}, 'sampled-out'],
  ['sample', '100 percent', { sample: 100 }, {}, 'queued'],
  ['repeat', 'once: never queued before', {}, {}, 'queued'],
  ['repeat', 'once: delivered', {}, delivered(NOW - 365 * DAY), 'repeat-exhausted'],
  ['repeat', 'once: waiting', {}, open(), 'repeat-exhausted'],
  ['repeat', 'times: one left', { frequency: { repeat: { times: 3 } } }, delivered(NOW - DAY, 2), 'queued'],
  ['repeat', 'times: none left', { frequency: { repeat: { times: 3 } } }, delivered(NOW - DAY, 3), 'repeat-exhausted'],
  [
    'repeat',
    'times: a waiting row counts',
    { frequency: { repeat: { times: 3 } } },
    { ...delivered(NOW, 2), ...open() },
    'repeat-exhausted',
  ],
  ['repeat', 'every: never shown', daily, {}, 'queued'],
  ['repeat', 'every: exactly that long ago', daily, delivered(NOW - DAY), 'queued'],
  ['repeat', 'every: a moment less ago', daily, delivered(NOW - DAY + 1), 'too-soon'],
  ['repeat', 'every: another form was shown just now', daily, otherShown(NOW), 'queued'],
  ['repeat', 'always: shown just now', always, delivered(NOW, 99), 'queued'],
  ['repeat', 'until answered: never answered', untilAnswered, delivered(NOW, 99), 'queued'],
  ['repeat', 'until answered: finished', untilAnswered, { answers: answersTo('nps') }, 'answered'],
  [
    'repeat',
    'until answered: only begun or dismissed',
    untilAnswered,
    { answers: answersTo('nps', { score: 4 }, { isFinished: false }) },
    'queued',
  ],
  ['repeat', 'until answered: another form was finished', untilAnswered, { answers: answersTo('other') }, 'queued'],
  ['slot', 'until answered: already waiting', untilAnswered, open(), 'already-waiting'],
  [
    'cooldown',
    'until answered: shown a moment less ago',
    untilAnswered,
    delivered(NOW - DAY + 1),
    'cooling-down',
    '1d',
  ],
  ['cooldown', 'none', {}, otherShown(NOW), 'queued'],
  ['cooldown', 'none, and shown later than now', {}, otherShown(NOW + SECOND), 'queued'],
  ['cooldown', 'any form shown a moment less ago', {}, otherShown(NOW - DAY + 1), 'cooling-down', '1d'],
  ['cooldown', 'any form shown exactly that long ago', {}, otherShown(NOW - DAY), 'queued', '1d'],
  ['cooldown', 'the form ignores it', { cooldown: { ignore: true } }, otherShown(NOW), 'queued', '1d'],
  [
    'cooldown',
    'an open offer counts as shown',
    {},
    otherOpen({ state: 'offered', offeredAt: NOW - SECOND }),
    'cooling-down',
    '1d',
  ],
  [
    'cooldown',
    'an offer that was not confirmed does not',
    {},
    otherOpen({ state: 'offered', offeredAt: NOW - MINUTE }),
    'queued',
    '1d',
  ],
  ['cooldown', 'a waiting form does not', {}, otherOpen(), 'queued', '1d'],
  ['slot', 'already waiting', always, open(), 'already-waiting'],
  ['slot', 'already offered', always, open({ state: 'offered', offeredAt: NOW }), 'already-waiting'],
  ['slot', 'another form waits', always, otherOpen(), 'queued'],
]

describe('the gates of forms.md', () => {
  for (const [gate, what, form, user, expected, formCooldown = '0s'] of rows) {
    it(`${gate}: ${what}`, () => {
      const [decision] = evaluateForms(formIndex([form], { formCooldown }), userState(user), eventContext())
      expect(decision?.outcome === 'not-queued' ? decision.reason : decision?.outcome).toBe(expected)
    })
  }

  it('record the first gate that fails, in the order of the table', () => {
    const reasons = []
    const form: FormInput = {
      ...daily,
      enabled: false,
      audience: { trait: 'plan', is: 'pro' },
      sample: 0,
    }
    const mended: FormInput[] = [
      { enabled: true },
      { audience: { all: [] } },
      { sample: 100 },
      always,
      { cooldown: { ignore: true } },
    ]
    const user = userState({ ...delivered(NOW), ...open() })
    for (let step = 0; step <= mended.length; step += 1) {
      const index = formIndex([Object.assign({}, form, ...mended.slice(0, step))], { formCooldown: '1h' })
      const [decision] = evaluateForms(index, user, eventContext())
      reasons.push(decision?.outcome === 'not-queued' ? decision.reason : decision?.outcome)
    }
    expect(reasons).toEqual([
      'not-live',
      'not-in-audience',
      'sampled-out',
      'too-soon',
      'cooling-down',
      'already-waiting',
    ])
  })

  it('draw a sample by a fixed hash of form and user', () => {
    const users = Array.from({ length: 2_000 }, (_, n) => `user-${n}`)
    const index = formIndex([{ sample: 25 }])
    const drawn = users.filter(
      (userId) => evaluateForms(index, userState({ userId }), eventContext())[0]?.outcome === 'queued',
    )
    const expected = users.filter(
      (userId) => createHash('sha256').update(`nps:${userId}`).digest().readUInt32BE(0) % 10_000 < 2_500,
    )
    expect(drawn).toEqual(expected)
    expect(drawn.length).toBeGreaterThan(420)
    expect(drawn.length).toBeLessThan(580)
  })
})

describe('a queued form', () => {
  it('is shown after its delay and before it expires, both from when the event was received', () => {
    const index = formIndex([{ delay: '2h', expiresAfter: '30d', priority: 10 }])
    const decisions = evaluateForms(index, userState(), eventContext({ occurredAt: NOW - 10 * MINUTE }))
    expect(decisions).toMatchObject([
      { outcome: 'queued', formId: 'nps', priority: 10, showFrom: NOW + 2 * HOUR, expiresAt: NOW + 30 * DAY },
    ])
  })

  it('never expires without expiresAfter', () => {
    const [decision] = evaluateForms(formIndex([{}]), userState(), eventContext())
    expect(decision).toMatchObject({ showFrom: NOW, expiresAt: undefined })
  })
})
