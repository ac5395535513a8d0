import type { Condition } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { evaluateForms } from '../evaluate-forms.ts'
import {
  DAY,
  eventContext,
  formIndex,
  HOUR,
  iso,
  NOW,
  openForm,
  SECOND,
  type UserInput,
  userState,
} from '../../../test/form-fixtures.ts'

type FormInput = Parameters<typeof formIndex>[0][number]

/** The outcome of each gate when `checkout` set off this form. */
function outcomesOf(form: FormInput, user: UserInput = {}, formCooldown = '0s') {
  const [decision] = evaluateForms(formIndex([form], { formCooldown }), userState(user), eventContext())
  return decision?.gates ?? []
}
const gatesOf = (...given: Parameters<typeof outcomesOf>) => outcomesOf(...given).map(({ gate }) => gate)
const thresholdOf = (sample: number) => outcomesOf({ sample })[2]?.compared
const lastOf = (...given: Parameters<typeof outcomesOf>) => outcomesOf(...given).at(-1)

describe('the recorded gates of a form (forms.md, Gates)', () => {
  it('are in the order of the table, up to the first gate that fails', () => {
    const all = ['live', 'audience', 'sample', 'repeat', 'cooldown', 'slot']
    expect(gatesOf({})).toEqual(all)
    const waits = { open: new Map([['nps', openForm()]]) }
    const shown = { shown: new Map([['other', { times: 1, lastAt: NOW }]]) }
    const failing: readonly Parameters<typeof outcomesOf>[] = [
      [{ enabled: false }],
      [{ audience: { trait: 'plan', is: 'pro' } }],
      [{ sample: 0 }],
      [{}, waits],
      [{}, shown, '1d'],
      [{ frequency: { repeat: 'always' } }, waits],
    ]
    expect(failing.map((given) => gatesOf(...given))).toEqual(all.map((_gate, index) => all.slice(0, index + 1)))
  })

  it("have the form's dates and the present time for the gate live", () => {
    expect(lastOf({ startsAt: iso(NOW + 1) })).toEqual({
      gate: 'live',
      passed: false,
      compared: { enabled: true, startsAt: iso(NOW + 1), endsAt: null, now: iso(NOW) },
    })
    expect(outcomesOf({ endsAt: '2030-01-01T01:00:00+01:00' })[0]?.compared).toMatchObject({
      endsAt: '2030-01-01T00:00:00.000Z',
    })
  })

  it("have the user's bucket and its threshold for the gate sample, and no bucket if all users pass", () => {
    expect(lastOf({ sample: 0.5 })).toMatchObject({ gate: 'sample', compared: { bucket: 5_099, threshold: 50 } })
    expect(lastOf({ sample: 50.99 }), 'the first that is left out').toMatchObject({ gate: 'sample', passed: false })
    expect(outcomesOf({ sample: 100 })).toContainEqual({
      gate: 'sample',
      passed: true,
      compared: { bucket: null, threshold: 10_000 },
    })
  })

  it('have a threshold of exactly a hundred times the percentage for the gate sample', () => {
    for (let hundredths = 0; hundredths <= 10_000; hundredths += 7) {
      const sample = Number(`${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, '0')}`)
      expect(thresholdOf(sample), `${sample}`).toMatchObject({ threshold: hundredths })
    }
    const finer = [33.333, 0.0007, 1e-7, 99.999999].map(thresholdOf)
    expect(finer).toMatchObject([3333.3, 0.07, 1e-5, 9999.9999].map((threshold) => ({ threshold })))
  })

  it('have the rule, the times that the form was queued and the last time that it was shown for the gate repeat', () => {
    const shown = { shown: new Map([['nps', { times: 2, lastAt: NOW - DAY }]]) }
    const rule = { times: 3 }
    expect(lastOf({ frequency: { repeat: rule } }, { ...shown, open: new Map([['nps', openForm()]]) })).toEqual({
      gate: 'repeat',
      passed: false,
      compared: { rule, timesQueued: 3, lastShownAt: iso(NOW - DAY) },
    })
    expect(lastOf({ frequency: { repeat: { every: '30d' } } }, shown)).toMatchObject({
      compared: { rule: { every: '30d' }, timesQueued: 2, lastShownAt: iso(NOW - DAY) },
    })
  })

  it('have the form that was shown last, open offers included, for the gate cooldown', () => {
    const shown = new Map([
      ['early', { times: 1, lastAt: NOW - HOUR }],
      ['late', { times: 1, lastAt: NOW - SECOND }],
      ['middle', { times: 1, lastAt: NOW - 2 * SECOND }],
    ])
    expect(lastOf({}, { shown }, '1d')).toEqual({
      gate: 'cooldown',
      passed: false,
      compared: {
        cooldownSeconds: DAY / SECOND,
        lastShown: { formId: 'late', at: iso(NOW - SECOND), openOffer: false },
      },
    })
    const offered = openForm({ formId: 'other', state: 'offered', offeredAt: NOW - 10 })
    expect(lastOf({}, { shown, open: new Map([['other', offered]]) }, '1d')).toMatchObject({
      compared: { lastShown: { formId: 'other', at: iso(NOW - 10), openOffer: true } },
    })
  })

  it('have the row that waits for the gate slot', () => {
    const open = new Map([['nps', openForm({ queuedAt: NOW - HOUR })]])
    expect(lastOf({ frequency: { repeat: 'always' } }, { open })).toEqual({
      gate: 'slot',
      passed: false,
      compared: { waiting: { state: 'waiting', queuedAt: iso(NOW - HOUR) } },
    })
  })
})

it('a decision keeps an excerpt of a long value: 150 visits may decide on 40 forms in one commit', () => {
  const user = { traits: new Map([['tags', Array.from({ length: 100 }, () => 'é'.repeat(500))]]) }
  const outcomes = outcomesOf({ audience: { trait: 'tags', contains: 'vip' } }, user)
  expect(outcomes.find(({ gate }) => gate === 'audience')).toMatchObject({
    passed: false,
    compared: { actual: Array.from({ length: 20 }, () => `${'é'.repeat(100)}…`) },
  })
})

describe('the deciding condition of an audience', () => {
  const pro: Condition = { trait: 'plan', is: 'pro' }
  const paid: Condition = { trait: 'paid', atLeast: 10 }
  const none = { leaf: null, negated: false, actual: undefined }
  const user = { traits: new Map<string, string | number>([['plan', 'free']]) }
  const found = (audience: Condition, traits = user.traits) =>
    outcomesOf({ audience }, { traits }).find(({ gate }) => gate === 'audience')

  it.each<[string, Condition, object]>([
    ['a trait', pro, { passed: false, leaf: pro, negated: false, actual: 'free' }],
    ['a missing trait', paid, { passed: false, leaf: paid, negated: false, actual: undefined }],
    ['the first of all that fails', { all: [{ not: paid }, pro] }, { passed: false, leaf: pro, actual: 'free' }],
    ['the last of all that hold', { all: [{ not: pro }, { not: paid }] }, { passed: true, leaf: paid, negated: true }],
    ['the first of any that holds', { any: [pro, { not: pro }] }, { passed: true, leaf: pro, negated: true }],
    ['the last of any that fail', { any: [pro, paid] }, { passed: false, leaf: paid }],
    ['what must not hold', { not: { not: { not: { trait: 'plan', is: 'free' } } } }, { passed: false, negated: true }],
    [
      'a count',
      { event: 'Checkout', atLeast: 2 },
      { passed: false, leaf: { event: 'Checkout', atLeast: 2 }, actual: 1 },
    ],
    ['a segment', { segment: 'gone' }, { passed: false, leaf: { segment: 'gone' }, actual: false }],
    ['a country', { country: 'DE' }, { passed: false, leaf: { country: 'DE' }, actual: undefined }],
    ['nothing, where all of nothing is asked', { all: [] }, { passed: true, ...none }],
    ['nothing, where any of nothing is asked', { any: [] }, { passed: false, ...none }],
  ])('%s', (_what, audience, expected) => {
    const { passed, compared } = found(audience) ?? {}
    expect({ passed, ...compared }).toMatchObject(expected)
  })
})

describe('a decision', () => {
  it('names the first trigger that matched', () => {
    const triggers = [{ event: 'checkout', count: 2 }, { firstSeen: { after: '1h' } }, { event: 'Checkout' }]
    const [decision] = evaluateForms(formIndex([{ triggers }]), userState(), eventContext())
    expect(decision?.trigger).toEqual({ firstSeen: { after: '1h' } })
  })
})
