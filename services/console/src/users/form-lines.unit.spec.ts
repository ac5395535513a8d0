import { Form, type FormDecision, type QueuedForm } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { AT, OTHER_REQUEST, REQUEST, refused, row } from '../../test/user-forms.ts'
import { countedTriggers, formLinesOf } from './form-lines.ts'
import { HIDE_PERSONAL, type Mask, SHOW_ALL } from '../http/mask.ts'

const searches = { event: 'Search', count: 2, within: '7d' }
const config = {
  forms: [Form.parse({ id: 'never', triggers: [searches, { visit: {} }] }), Form.parse({ id: 'nps', name: 'Score' })],
}
const onceEach: Parameters<typeof formLinesOf>[0]['soFar'] = (trigger) => ('event' in trigger ? 1 : undefined)
const NOTHING: Parameters<typeof formLinesOf>[0] = {
  forms: [],
  queue: [],
  config,
  soFar: () => undefined,
  mask: SHOW_ALL,
  nowMs: Date.parse(AT),
}

describe('formLinesOf', () => {
  it('explains the decision on each form of the project, and lists gates that were not checked', () => {
    const [nps, never] = formLinesOf({ ...NOTHING, forms: [refused] })
    expect(never).toMatchObject({ formId: 'never', decision: 'never', gates: [] })
    expect(nps).toMatchObject({
      name: 'Score',
      decision: 'not-queued',
      summary: 'Not queued: the user was not in the audience.',
      trigger: 'event checkout',
    })
    expect(nps?.gates.map(({ gate, outcome }) => `${gate} ${outcome}`)).toEqual([
      'live passed',
      'audience failed',
      'sample not-checked',
      'repeat not-checked',
      'cooldown not-checked',
      'slot not-checked',
    ])
  })

  it('lists the triggers that a form waits for, with the progress of the user', () => {
    expect(formLinesOf({ ...NOTHING, soFar: onceEach })[0]?.waitsFor).toEqual([
      { trigger: 'event Search 2 times within 7d', soFar: 1, count: 2 },
      { trigger: 'visit', soFar: null, count: 1 },
    ])
  })

  const later = '2026-11-23T04:00:00.000Z'
  const queued = { ...refused, decision: 'queued' as const, reason: undefined, requestId: OTHER_REQUEST }
  const exhausted = { ...refused, reason: 'repeat-exhausted' as const }
  it.each<[string, FormDecision, Partial<QueuedForm>]>([
    [
      "Queued: every gate passed. It has been waiting for the user's next visit since 2026-11-23T02:00:00.000Z.",
      queued,
      {},
    ],
    [
      `Queued: every gate passed. It has been waiting since 2026-11-23T02:00:00.000Z and can be shown from ${later}.`,
      queued,
      { showFrom: later },
    ],
    [`Queued: every gate passed. It was shown at ${later}.`, queued, { state: 'delivered', deliveredAt: later }],
    [
      `Queued: every gate passed. It expired at ${later} before it was shown.`,
      queued,
      { state: 'expired', expiresAt: later },
    ],
    ['Queued: every gate passed.', queued, { requestId: REQUEST }],
    [
      "Not queued: the form was queued before (shown, or still waiting) as often as its frequency allows. It has been waiting for the user's next visit since 2026-11-23T02:00:00.000Z.",
      exhausted,
      {},
    ],
    [
      'Not queued: the form was queued before (shown, or still waiting) as often as its frequency allows.',
      exhausted,
      { state: 'cancelled' },
    ],
    ['Not queued: the user was not in the audience.', refused, {}],
  ])('summarizes a decision: %s', (summary, decision, changed) => {
    expect(formLinesOf({ ...NOTHING, forms: [decision], queue: [{ ...row, ...changed }] })[0]?.summary).toBe(summary)
  })

  it('marks our own texts: instants in values of users must not be converted to another zone', () => {
    const gates = formLinesOf({ ...NOTHING, forms: [refused] }).flatMap((form) => form.gates)
    const ours = gates.filter(({ withInstants }) => withInstants).map(({ gate }) => gate)
    expect(ours).toEqual(['live'])
  })

  it('keeps a decision on a removed form', () => {
    expect(formLinesOf({ ...NOTHING, forms: [refused], config: { forms: [] } })).toMatchObject([
      { formId: 'nps', inWorkspace: false },
    ])
  })

  it('hides values of the user, not conditions of the form', () => {
    const text = JSON.stringify(formLinesOf({ ...NOTHING, forms: [refused], mask: HIDE_PERSONAL }))
    expect(text).not.toContain('ada@example.com')
    expect(text).toContain('a@b.example')
  })
})

describe('countedTriggers', () => {
  const where = { property: 'plan', is: 'pro' }
  const counted = { event: 'Search', count: 2, where }
  const form = Form.parse({ id: 'never', triggers: [searches, counted, { event: 'Search', where }, { visit: {} }] })
  const countedFor = (mask: Mask) => countedTriggers([], { forms: [form] }, mask)

  it('skips counts that do not show progress: events whose properties are checked only at evaluation', () => {
    expect(countedFor(SHOW_ALL)).toEqual([searches, counted])
  })

  it('skips counts that would reveal values of properties to a viewer', () => {
    expect(countedFor(HIDE_PERSONAL)).toEqual([searches])
  })
})
