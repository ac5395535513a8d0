import { Form, type FormDecision, type MissedEvent, type QueuedForm } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { explainForms, triggersToCount } from './explain-forms.ts'

const AT = '2026-11-23T03:00:00.000Z'
const QUEUED_AT = '2026-11-23T02:00:00.000Z'
const LATER = '2026-11-23T04:00:00.000Z'
const REQUEST = '01a2066e-3ec0-780c-9db5-05517574891e'
const searches = { event: 'Search', count: 3, within: '7d' }
const forms = [
  Form.parse({ id: 'never', triggers: [searches, { visit: {} }] }),
  Form.parse({ id: 'nps', name: 'Score', triggers: [{ event: 'Checkout' }] }),
]
const refused: FormDecision = {
  formId: 'nps',
  decision: 'not-queued',
  reason: 'not-in-audience',
  at: AT,
  requestId: REQUEST,
  trigger: { event: 'checkout' },
  catalogRevision: 3,
  gates: [
    { gate: 'live', passed: true, compared: { enabled: true, startsAt: null, endsAt: null, now: AT } },
    {
      gate: 'audience',
      passed: false,
      compared: { leaf: { trait: 'email', is: 'a@b.example' }, negated: false, actual: 'ada@example.com' },
    },
  ],
}
const queued: FormDecision = { ...refused, decision: 'queued', reason: undefined }
const row: QueuedForm = {
  queuedId: REQUEST,
  formId: 'nps',
  state: 'waiting',
  queuedAt: QUEUED_AT,
  showFrom: QUEUED_AT,
  expiresAt: null,
  offeredAt: null,
  deliveredAt: null,
  answerStatus: null,
  startedAt: null,
  endedAt: null,
  requestId: REQUEST,
}

type Parts = Parameters<typeof explainForms>[0]
const explain = (special: Partial<Parts> = {}) =>
  explainForms({
    forms: [],
    queue: [],
    workspace: { config: { forms }, notUnderstood: [] },
    progressOf: () => undefined,
    nowMs: Date.parse(AT),
    ...special,
  })

const searchedTwice: Parts['progressOf'] = (trigger) => ('event' in trigger ? { count: 2 } : undefined)

const summaryOf = (form: object) =>
  explain({ workspace: { config: { forms: [Form.parse({ id: 'one', ...form })] }, notUnderstood: [] } })[0]?.summary

const missedWith = (missed: MissedEvent, decisions: readonly FormDecision[] = []) =>
  explain({ forms: [...decisions], progressOf: () => ({ missed }) }).find(({ formId }) => formId === 'nps')?.missed

describe('the explanation of a form', () => {
  it('has the last decision, and lists gates that were not checked', () => {
    const [nps, never] = explain({ forms: [refused] })
    expect(never).toMatchObject({ formId: 'never', state: 'never', decision: null })
    expect(nps).toMatchObject({
      name: 'Score',
      presence: 'workspace',
      state: 'not-queued',
      summary: 'Not queued: the user was not in the audience.',
      decision: { trigger: 'event checkout', reason: 'not-in-audience' },
      waitsFor: [],
    })
    expect(nps?.decision?.gates.map(({ gate, outcome }) => `${gate} ${outcome}`)).toEqual([
      'live passed',
      'audience failed',
      'sample not-checked',
      'repeat not-checked',
      'cooldown not-checked',
      'slot not-checked',
    ])
  })

  it.each<[Partial<QueuedForm>, string, string]>([
    [{}, 'waiting', `Waiting for the user's next visit since ${QUEUED_AT}.`],
    [{ expiresAt: LATER }, 'waiting', `Waiting for the user's next visit since ${QUEUED_AT}, until ${LATER}.`],
    [{ showFrom: LATER }, 'waiting', `Waiting since ${QUEUED_AT}; may be shown from ${LATER}.`],
    [{ state: 'offered', offeredAt: AT }, 'offered', `Offered to a visit at ${AT}, which has not confirmed it yet.`],
    [{ state: 'delivered', deliveredAt: AT }, 'delivered', `Shown at ${AT}.`],
    [
      { state: 'delivered', deliveredAt: AT, answerStatus: 'partial', startedAt: LATER },
      'delivered',
      `Shown at ${AT}. The user began to answer at ${LATER}.`,
    ],
    [{ state: 'delivered', deliveredAt: AT, answerStatus: 'partial' }, 'delivered', `Shown at ${AT}.`],
    [
      { state: 'delivered', deliveredAt: AT, answerStatus: 'finished', startedAt: AT, endedAt: LATER },
      'delivered',
      `Shown at ${AT}. The user finished it at ${LATER}.`,
    ],
    [
      { state: 'answered', answerStatus: 'dismissed', endedAt: LATER },
      'answered',
      `Answered before a visit had confirmed that it was shown. The user dismissed it at ${LATER}.`,
    ],
    [{ state: 'expired', expiresAt: AT }, 'expired', `Expired at ${AT} before it was shown.`],
    [
      { state: 'cancelled' },
      'cancelled',
      `Cancelled, because the workspace removed or disabled the form. It was queued at ${QUEUED_AT}.`,
    ],
  ])('begins with the state in the queue, whatever the last decision was: %o', (changed, state, summary) => {
    const queue = [{ ...row, ...changed }]
    const [later] = explain({ forms: [refused], queue })
    expect(later).toMatchObject({ state, summary })
    expect(later?.decision?.words).toBe('Not queued again: the user was not in the audience.')
    const [own] = explain({ forms: [queued], queue })
    expect(own).toMatchObject({ state, summary, decision: { words: 'Queued: every gate passed.' } })
  })

  it('marks our own texts: instants in values of users must not be converted to another zone', () => {
    const gates = explain({ forms: [refused] }).flatMap(({ decision }) => decision?.gates ?? [])
    const ours = gates.filter(({ withInstants }) => withInstants).map(({ gate }) => gate)
    expect(ours).toEqual(['live'])
  })

  it.each<[string, Parts['workspace']]>([
    ['removed', { config: { forms: [] }, notUnderstood: [] }],
    [
      'not-understood',
      { config: { forms: [] }, notUnderstood: [{ project: 'shop', kind: 'form', id: 'nps', reason: 'a new gate' }] },
    ],
    ['unknown', undefined],
  ])('keeps a decision or a row of a form that is %s', (presence, workspace) => {
    expect(explain({ forms: [refused], workspace })).toMatchObject([{ formId: 'nps', presence }])
    expect(explain({ queue: [row], workspace })).toMatchObject([{ formId: 'nps', presence, state: 'waiting' }])
  })
})

describe('the explanation of a form that was never evaluated', () => {
  it('lists its triggers, with the progress of the user', () => {
    expect(explain({ progressOf: searchedTwice }).find(({ formId }) => formId === 'never')?.waitsFor).toEqual([
      { trigger: 'event Search 3 times within 7d', soFar: 2, count: 3 },
      { trigger: 'visit', soFar: null, count: 1 },
    ])
  })

  it('shows no progress of a count that ignores the properties that the form asks for', () => {
    const triggers = [{ event: 'Search', where: { property: 'plan', is: 'pro' } }]
    const workspace = { config: { forms: [Form.parse({ id: 'one', triggers })] }, notUnderstood: [] }
    expect(explain({ workspace, progressOf: () => ({ count: 2 }) })[0]?.waitsFor).toMatchObject([{ soFar: null }])
  })

  it('names the cause', () => {
    expect(summaryOf({ triggers: [] })).toContain('the form has no trigger')
    expect(summaryOf({ triggers: [searches], enabled: false })).toContain('the form is disabled')
    expect(summaryOf({ triggers: [searches] })).toContain('none of its triggers has matched yet')
  })
})

describe('an event that counted, but could not trigger the form', () => {
  it('was too old when it arrived', () => {
    expect(missedWith({ at: '2026-11-22T03:00:00.000Z', receivedAt: AT })).toEqual([
      `The event Checkout of 2026-11-22T03:00:00.000Z was older than 15 minutes when it arrived at ${AT}. It counts, but it triggers no form.`,
    ])
  })

  it('was imported', () => {
    expect(missedWith({ at: AT, receivedAt: AT })).toEqual([
      `The event Checkout of ${AT} was imported at ${AT}. It counts, but it triggers no form.`,
    ])
  })

  it('is not mentioned if a later event was evaluated', () => {
    expect(missedWith({ at: QUEUED_AT, receivedAt: QUEUED_AT }, [refused])).toEqual([])
    expect(missedWith({ at: QUEUED_AT, receivedAt: LATER }, [refused])).toHaveLength(1)
  })
})

describe('the triggers to count', () => {
  const where = { property: 'plan', is: 'pro' }
  const counted = { event: 'Search', count: 2, where }
  const last = { event: 'Search', where }
  const form = Form.parse({ id: 'one', triggers: [searches, counted, last, { visit: {} }] })

  it('exclude counts that would reveal values of properties to a viewer', () => {
    expect(triggersToCount([form], { seesValues: true })).toEqual([searches, counted, last])
    expect(triggersToCount([form], { seesValues: false })).toEqual([searches, last])
  })
})
