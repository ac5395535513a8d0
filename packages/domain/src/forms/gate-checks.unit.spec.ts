import type { Condition } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { evaluateForms } from './evaluate-forms.ts'
import { DAY, eventOccasion, formIndex, HOUR, NOW, openForm, SECOND, userState } from './form-fixtures.ts'
import type { UserState } from './user-state.ts'

type FormInput = Parameters<typeof formIndex>[0][number]

/** What the gates compared when `checkout` set off this form. */
function checksOf(form: FormInput, user: Partial<UserState> = {}, formCooldown = '0s') {
  const [decision] = evaluateForms(formIndex([form], { formCooldown }), userState(user), eventOccasion())
  return decision?.checks ?? []
}
const gatesOf = (...given: Parameters<typeof checksOf>) => checksOf(...given).map(({ gate }) => gate)
const lastOf = (...given: Parameters<typeof checksOf>) => checksOf(...given).at(-1)

describe('what each gate compared (forms.md, Gates)', () => {
  it('goes in the order of the table, up to the first that fails', () => {
    const all = ['live', 'audience', 'sample', 'repeat', 'cooldown', 'slot']
    expect(gatesOf({})).toEqual(all)
    const waits = { open: new Map([['nps', openForm()]]) }
    const shown = { shown: new Map([['other', { times: 1, lastAt: NOW }]]) }
    const failing: readonly Parameters<typeof checksOf>[] = [
      [{ enabled: false }],
      [{ audience: { trait: 'plan', is: 'pro' } }],
      [{ sample: 0 }],
      [{}, waits],
      [{}, shown, '1d'],
      [{ frequency: { repeat: 'always' } }, waits],
    ]
    expect(failing.map((given) => gatesOf(...given))).toEqual(all.map((_gate, index) => all.slice(0, index + 1)))
  })

  it('live: the dates and now', () => {
    expect(lastOf({ startsAt: new Date(NOW + 1).toISOString() })).toEqual({
      gate: 'live',
      reason: 'not-live',
      compared: { isEnabled: true, startsAt: NOW + 1, endsAt: Number.POSITIVE_INFINITY, now: NOW },
    })
  })

  it('sample: what was drawn, and nothing where nobody is left out', () => {
    expect(lastOf({ sample: 0.5 })).toMatchObject({ gate: 'sample', compared: { bucket: 5_099, below: 50 } })
    expect(checksOf({ sample: 100 })).toContainEqual({
      gate: 'sample',
      reason: undefined,
      compared: { bucket: undefined, below: 10_000 },
    })
  })

  it('repeat: the rule as the workspace file has it, how often it was queued and when last shown', () => {
    const shown = { shown: new Map([['nps', { times: 2, lastAt: NOW - DAY }]]) }
    const rule = { times: 3 }
    expect(lastOf({ frequency: { repeat: rule } }, { ...shown, open: new Map([['nps', openForm()]]) })).toEqual({
      gate: 'repeat',
      reason: 'repeat-exhausted',
      compared: { rule, timesQueued: 3, lastShownAt: NOW - DAY },
    })
    expect(lastOf({ frequency: { repeat: { every: '30d' } } }, shown)).toMatchObject({
      compared: { rule: { every: '30d' }, timesQueued: 2, lastShownAt: NOW - DAY },
    })
  })

  it('cooldown: which form was shown last, an open offer among them', () => {
    const shown = new Map([
      ['early', { times: 1, lastAt: NOW - HOUR }],
      ['late', { times: 1, lastAt: NOW - SECOND }],
      ['middle', { times: 1, lastAt: NOW - 2 * SECOND }],
    ])
    expect(lastOf({}, { shown }, '1d')).toEqual({
      gate: 'cooldown',
      reason: 'cooling-down',
      compared: { cooldownMs: DAY, lastShown: { formId: 'late', at: NOW - SECOND, isOffer: false } },
    })
    const offered = openForm({ formId: 'other', state: 'offered', offeredAt: NOW - 10 })
    expect(lastOf({}, { shown, open: new Map([['other', offered]]) }, '1d')).toMatchObject({
      compared: { lastShown: { formId: 'other', at: NOW - 10, isOffer: true } },
    })
  })

  it('slot: what waits already', () => {
    const open = new Map([['nps', openForm({ queuedAt: NOW - HOUR })]])
    expect(lastOf({ frequency: { repeat: 'always' } }, { open })).toEqual({
      gate: 'slot',
      reason: 'already-waiting',
      compared: { waiting: { state: 'waiting', queuedAt: NOW - HOUR } },
    })
  })
})

describe('which condition of an audience decided', () => {
  const pro: Condition = { trait: 'plan', is: 'pro' }
  const paid: Condition = { trait: 'paid', atLeast: 10 }
  const none = { leaf: undefined, isNegated: false, actual: undefined }
  const user = { traits: new Map<string, string | number>([['plan', 'free']]) }
  const found = (audience: Condition, traits = user.traits) =>
    checksOf({ audience }, { traits }).find(({ gate }) => gate === 'audience')?.compared

  it.each<[string, Condition, object]>([
    ['a trait', pro, { holds: false, leaf: pro, isNegated: false, actual: 'free' }],
    ['a missing trait', paid, { holds: false, leaf: paid, isNegated: false, actual: undefined }],
    ['the first of all that fails', { all: [{ not: paid }, pro] }, { holds: false, leaf: pro, actual: 'free' }],
    ['the last of all that hold', { all: [{ not: pro }, { not: paid }] }, { holds: true, leaf: paid, isNegated: true }],
    ['the first of any that holds', { any: [pro, { not: pro }] }, { holds: true, leaf: pro, isNegated: true }],
    ['the last of any that fail', { any: [pro, paid] }, { holds: false, leaf: paid }],
    ['what must not hold', { not: { not: { not: { trait: 'plan', is: 'free' } } } }, { holds: false, isNegated: true }],
    [
      'a count',
      { event: 'Checkout', atLeast: 2 },
      { holds: false, leaf: { event: 'Checkout', atLeast: 2 }, actual: 1 },
    ],
    ['a segment', { segment: 'gone' }, { holds: false, leaf: { segment: 'gone' }, actual: false }],
    ['a country', { country: 'DE' }, { holds: false, leaf: { country: 'DE' }, actual: undefined }],
    ['nothing, where all of nothing is asked', { all: [] }, { holds: true, ...none }],
    ['nothing, where any of nothing is asked', { any: [] }, { holds: false, ...none }],
  ])('%s', (_what, audience, expected) => {
    expect(found(audience)).toMatchObject(expected)
  })
})

describe('a decision', () => {
  it('names the first trigger that matched', () => {
    const triggers = [{ event: 'checkout', count: 2 }, { firstSeen: { after: '1h' } }, { event: 'Checkout' }]
    const [decision] = evaluateForms(formIndex([{ triggers }]), userState(), eventOccasion())
    expect(decision?.trigger).toEqual({ firstSeen: { after: '1h' } })
  })
})
