import type { KeptRefusal, QueuedForm } from '@nextvisit/contracts'
import {
  answerGiven,
  eventTracked,
  formAnswered,
  identifyRequested,
  organizationConfig,
} from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { AT, OTHER_REQUEST, REQUEST, refused, row } from '../../test/user-forms.ts'
import { HIDE_PERSONAL, SHOW_ALL } from '../http/mask.ts'
import { entryOf } from './fact-entries.ts'
import { keptFactOf } from './kept-fact.ts'
import { timelineEntriesOf, whyNoForm } from './timeline-entries.ts'

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
    facts: [fact, fact].map((one) =>
      keptFactOf({ outcome: 'opened', fact: one }, { offset: 0n, keyId: undefined }, SHOW_ALL),
    ),
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

  it('shows a text as a text: "150" is no number', () => {
    const [entry] = timelineEntriesOf({
      ...parts,
      facts: [
        keptFactOf(
          { outcome: 'opened', fact: { ...fact, properties: { total: '150', count: 150 } } },
          { offset: 0n, keyId: undefined },
          SHOW_ALL,
        ),
      ],
    }).filter(({ kind }) => kind === 'event')
    expect(entry?.details.map(({ name, value }) => `${name} ${value}`)).toEqual(['total "150"', 'count 150'])
  })

  it('hides values of properties', () => {
    const facts = [keptFactOf({ outcome: 'opened', fact }, { offset: 0n, keyId: undefined }, HIDE_PERSONAL)]
    expect(JSON.stringify(timelineEntriesOf({ ...parts, facts, mask: HIDE_PERSONAL }))).not.toContain('4242')
  })

  it.each([
    ['partial', 'Answer to form nps begun'],
    ['finished', 'Answer to form nps finished'],
    ['dismissed', 'Form nps dismissed'],
  ] as const)('shows an answer that is %s, and its values to operators only', (status, title) => {
    const answer = answerGiven({ status, language: 'de', answers: { reason: 'canary', uses: ['work'] } })
    const shown = entryOf(answer, SHOW_ALL)
    expect(shown).toMatchObject({ kind: 'answer', title, requestId: answer.id })
    expect(shown.details.map(({ name, value }) => `${name} ${value}`)).toEqual([
      'language de',
      'reason "canary"',
      'uses ["work"]',
    ])
    const hidden = JSON.stringify(entryOf(answer, HIDE_PERSONAL))
    expect(hidden).toContain('reason')
    expect(hidden).not.toMatch(/canary|work/)
  })

  it('shows the outcome of an answer beside the answer, which has the same id', () => {
    const answer = answerGiven({ received: AT })
    const { answers: _, ...clear } = formAnswered(answer, { outcome: 'late' })
    const sealed = { key: REQUEST, bytes: '' }
    const facts = [keptFactOf({ outcome: 'opened', fact: answer }, { offset: 0n, keyId: undefined }, SHOW_ALL)]
    const shown = timelineEntriesOf({ ...parts, facts, formFacts: [{ ...clear, sealed }] })
    expect(shown.filter(({ kind }) => kind === 'answer').map(({ title }) => title)).toEqual([
      'Answer to form nps finished',
      'Answer to form nps not counted: the form was ended before',
    ])
  })

  it('names the device facts of a visit that were dropped', () => {
    const visit = identifyRequested({ source: 'sdk', device: {}, invalidDeviceFields: ['$timezone'] })
    for (const mask of [SHOW_ALL, HIDE_PERSONAL])
      expect(entryOf(visit, mask).details).toContainEqual({
        name: '$timezone',
        value: 'dropped: not a valid value',
        withInstants: false,
      })
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

  describe('for the entry of the request that the reader looks for', () => {
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
      ['the reader looks for another request', { request: OTHER_REQUEST }],
      ['the last decision is its own', { forms: { forms: [refused], queue: [] } }],
      ['the event triggers another form', { forms: { forms: [{ ...later, formId: 'other' }], queue: [] } }],
      ['it queued the form', { formFacts: [{ type: 'FormQueued', id: 'q', causeId: REQUEST, formId: 'nps', at: AT }] }],
    ])('adds nothing if %s', (_where, changed) => {
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
  ])('returns %s for a row with %o', (words, changed) => {
    expect(whyNoForm(AT, [{ ...row, ...changed }])).toBe(words)
  })
})

function triggersOf(own: Parameters<typeof eventTracked>[0]) {
  const { details } = entryOf(eventTracked({ evaluateTriggers: false, ...own }), SHOW_ALL)
  return details.filter(({ name }) => name === 'triggers')
}

describe('the entry of an event that triggers no form', () => {
  it('tells that the event was imported, or too old on arrival', () => {
    expect(triggersOf({ imported: true })).toMatchObject([{ value: 'not evaluated: imported' }])
    expect(triggersOf({})).toMatchObject([{ value: 'not evaluated: too old on arrival' }])
  })
})
