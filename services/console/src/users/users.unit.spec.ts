import { Form, type FormDecision, type KeptRefusal, type QueuedForm } from '@nextvisit/contracts'
import { eventTracked, organizationConfig } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { HIDE_PERSONAL, type Mask, SHOW_ALL } from './mask.ts'
import { timeOf } from './find-request.ts'
import { formLinesOf, type FormLinesParts } from './form-lines.ts'
import { entryOf, timelineEntriesOf, whyNoForm } from './timeline-entries.ts'
import { countedTriggers } from './user-forms-answer.ts'

const AT = '2026-11-23T03:00:00.000Z'
const REQUEST = '01a2066e-3ec0-780c-9db5-05517574891e'
const OTHER_REQUEST = '01a2066e-3ec0-780c-9db5-055175748aaa'

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
const row: QueuedForm = {
  queuedId: REQUEST,
  formId: 'nps',
  state: 'waiting',
  queuedAt: '2026-11-23T02:00:00.000Z',
  showFrom: '2026-11-23T02:00:00.000Z',
  expiresAt: null,
  offeredAt: null,
  deliveredAt: null,
  requestId: OTHER_REQUEST,
}
const searches = { event: 'Search', count: 2, within: '7d' }
const config = {
  forms: [Form.parse({ id: 'never', triggers: [searches, { visit: {} }] }), Form.parse({ id: 'nps', name: 'Score' })],
}
const onceEach: FormLinesParts['soFar'] = (trigger) => ('event' in trigger ? 1 : undefined)
const NOTHING: FormLinesParts = {
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
      'sample not-looked-at',
      'repeat not-looked-at',
      'cooldown not-looked-at',
      'slot not-looked-at',
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
  ])('%s', (summary, decision, changed) => {
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
  const countedFor = (mask: Mask) => countedTriggers({ model: { forms: [] }, config: { forms: [form] }, mask })

  it('skips counts that do not show progress: events whose properties are checked only at evaluation', () => {
    expect(countedFor(SHOW_ALL)).toEqual([searches, counted])
  })

  it('skips counts that would reveal values of properties to a viewer', () => {
    expect(countedFor(HIDE_PERSONAL)).toEqual([searches])
  })
})

describe('timelineEntriesOf', () => {
  const fact = {
    type: 'EventTracked' as const,
    id: REQUEST,
    organization: 'demo',
    project: 'shop',
    userId: '15e46d0f-a922-5800-a3fd-9c536cb14c9a',
    received: AT,
    environment: 'P' as const,
    source: 'admin' as const,
    keyed: false,
    userName: 'ada@example.com',
    unchecked: [],
    eventName: 'Checkout',
    slug: 'checkout',
    occurredAt: AT,
    newEvent: false,
    metered: true,
    evaluateTriggers: true,
    properties: { card: '4242' },
  }
  const parts = {
    facts: [fact, fact],
    formFacts: [],
    forms: { forms: [refused], queue: [] },
    refusals: [],
    config: undefined,
    request: undefined,
    since: null,
    mask: SHOW_ALL,
  }

  it('shows the decision above its event, and a duplicate once', () => {
    expect(timelineEntriesOf(parts).map(({ title }) => title)).toEqual([
      'Form nps not queued: not-in-audience',
      'Event Checkout',
    ])
  })

  it('hides values of properties', () => {
    expect(JSON.stringify(timelineEntriesOf({ ...parts, mask: HIDE_PERSONAL }))).not.toMatch(/4242|ada@example.com/)
  })

  it('shows refusals of the user', () => {
    const refusal: KeptRefusal = {
      id: '01a2066e-3ec0-780c-9db5-05517574891f',
      at: '2026-11-23T03:00:01.000Z',
      reason: 'finiteNumber',
      status: 400,
      message: 'userAttributes.$increment.… must be a finite number',
      route: '/v2/admin/identify-user',
      requestId: '01a2066e-3ec0-780c-9db5-055175748920',
      key: { name: 'backend', kind: 'admin', environment: 'P' },
    }
    expect(timelineEntriesOf({ ...parts, refusals: [refusal] })[0]).toMatchObject({
      kind: 'refused',
      title: `Refused: ${refusal.message}`,
      requestId: refusal.requestId,
    })
  })

  describe('of the request that the reader looks for', () => {
    const forms = [
      { id: 'nps', triggers: [{ event: 'Checkout' }] },
      { id: 'other', triggers: [{ event: 'Search' }] },
    ]
    const [project] = organizationConfig({ id: 'demo', projects: [{ id: 'shop', forms }] }).projects
    const later = { ...refused, requestId: OTHER_REQUEST, at: '2026-11-23T03:05:00.000Z' }
    const detailsWith = (changed: object): readonly string[] => {
      const all = { ...parts, config: project, request: REQUEST, forms: { forms: [later], queue: [] }, ...changed }
      const entry = timelineEntriesOf(all).find(({ kind }) => kind === 'event')
      return entry?.details.filter(({ name }) => name === 'form nps').map(({ value }) => value) ?? []
    }

    it('reports that a later decision may have replaced its own', () => {
      expect(detailsWith({})).toEqual([
        `a decision for this request, if any, was replaced by a later one at ${later.at} for request ${OTHER_REQUEST}`,
      ])
    })

    it.each([
      ['another request is looked for', { request: OTHER_REQUEST }],
      ['the last decision is its own', { forms: { forms: [refused], queue: [] } }],
      ['the event sets off another form', { forms: { forms: [{ ...later, formId: 'other' }], queue: [] } }],
      ['it queued the form', { formFacts: [{ type: 'FormQueued', id: 'q', causeId: REQUEST, formId: 'nps', at: AT }] }],
    ])('says nothing where %s', (_where, changed) => {
      expect(detailsWith(changed)).toEqual([])
    })
  })

  it('drops entries older than the part of the log that was read', () => {
    expect(timelineEntriesOf({ ...parts, since: '2026-11-23T03:00:00.001Z' })).toEqual([])
  })
})

describe('whyNoForm', () => {
  const later = '2026-11-23T04:00:00.000Z'
  const refusedThen =
    'none, although nps was waiting: not live, no longer for this user, too soon after another form, offered to another visit, or the answer came too late'

  it.each<[string | undefined, Partial<QueuedForm>]>([
    [`none yet: nps can be shown from ${later}`, { showFrom: later }],
    [refusedThen, {}],
    [refusedThen, { deliveredAt: later }],
    [refusedThen, { state: 'offered', offeredAt: '2026-11-23T02:59:50.000Z' }],
    ['none: no form was waiting for the user', { queuedAt: later }],
    ['none: no form was waiting for the user', { expiresAt: AT }],
    ['none: no form was waiting for the user', { deliveredAt: '2026-11-23T02:30:00.000Z' }],
    ['none: no form was waiting for the user', { state: 'cancelled', queuedAt: later }],
    [undefined, { state: 'cancelled' }],
    [undefined, { state: 'offered', offeredAt: AT }],
  ])('%s: %o', (words, changed) => {
    expect(whyNoForm(AT, [{ ...row, ...changed }])).toBe(words)
  })
})

describe('the mask', () => {
  it.each([
    ['😀 smiles', '😀•••'],
    ['ada@example.com', 'a•••'],
    ['7', '•••'],
    ['Grace H', '•••'],
    ['😀😀😀😀', '•••'],
  ])('leaves of a long userName the first character, whole, and nothing of one below 8: %s', (userName, masked) => {
    expect(HIDE_PERSONAL.userName(userName)).toBe(masked)
  })
})

describe('timeOf', () => {
  it('reads the time of a UUIDv7; other ids have none', () => {
    expect(timeOf('01a2066e-3ec0-780c-9db5-05517574891e')).toBe(0x01a2066e3ec0)
    expect(timeOf('15e46d0f-a922-5800-a3fd-9c536cb14c9a')).toBeUndefined()
  })
})

function triggersOf(own: Parameters<typeof eventTracked>[0]) {
  const { details } = entryOf(eventTracked({ evaluateTriggers: false, ...own }), SHOW_ALL)
  return details.filter(({ name }) => name === 'triggers')
}

describe('an event of the timeline without evaluation of forms', () => {
  it('was imported, or too old on arrival', () => {
    expect(triggersOf({ imported: true })).toMatchObject([{ value: 'not evaluated: imported' }])
    expect(triggersOf({})).toMatchObject([{ value: 'not evaluated: too old on arrival' }])
  })
})
