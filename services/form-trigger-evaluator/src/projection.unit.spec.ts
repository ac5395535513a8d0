import { evolveDraft, type FoldContext, type Recorded } from '@nextvisit/consumer'
import type { EvaluatorReply, Form, UserFact, VisitReply } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, userIdFixture, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { at, contextOf, GATEWAY, MINUTE, nps, recorded, SECOND } from '../test/evaluator-fixtures.ts'
import { createProjection } from './projection.ts'
import { emptyDraft, type Draft } from './draft.ts'

const projection = createProjection({ publishReplies: async () => {} })

const rowsOf = ({ users }: Draft) => [...users.values()].flatMap(({ queue }) => [...queue.rows.values()])

/** One user's story, told in one batch; the fold is pure, so no database is needed. */
function fold(context: FoldContext, ...records: (UserFact | Recorded<UserFact>)[]) {
  const all = records.map((record) => ('fact' in record ? record : recorded(record)))
  const draft = evolveDraft(projection, emptyDraft(), all, context)
  const rows = rowsOf(draft).map((row) => ({ ...row, shownAt: row.shownAt === null ? null : Date.parse(row.shownAt) }))
  return {
    queue: rows.map(({ formId, state }) => `${formId} ${state}`),
    rows,
    decisions: [...draft.decisions.values()].map(({ formId, outcome }) => `${formId} ${outcome}`),
    facts: draft.facts.map(({ fact }) => ('formId' in fact ? `${fact.type} ${fact.formId}` : fact.type)),
    factIds: draft.facts.map(({ fact }) => fact.id),
    replies: draft.replies.map(({ reply }) => reply),
    channels: draft.replies.map(({ channel }) => channel),
  }
}

const offersOf = (replies: readonly EvaluatorReply[]) =>
  replies.filter((reply): reply is VisitReply => reply.kind === 'visit').map(({ offer }) => offer?.formId)

/** Returns the `VisitAnswered` with which a gateway confirms the offer `queuedId` of a visit. */
function confirmed(shown: ReturnType<typeof visit>, queuedId: string, formId = 'nps') {
  return visitAnswered({ visitId: shown.id, queuedId, formId, received: shown.received, userId: shown.userId })
}

describe('a tracked event', () => {
  const context = contextOf([nps])

  it('queues the forms that it triggers, once, and replies with their number', () => {
    const story = fold(context, eventTracked(), eventTracked())
    expect(story.queue).toEqual(['nps waiting'])
    expect(story.facts).toEqual(['FormQueued nps'])
    expect(story.replies).toMatchObject([{ kind: 'track', formsQueued: 1 }, { formsQueued: 0 }])
    expect(story.channels).toEqual([GATEWAY, GATEWAY])
    expect(story.decisions).toEqual(['nps repeat-exhausted'])
  })

  it('only counts when it is too old', () => {
    const form: Partial<Form> = { ...nps, triggers: [{ event: 'checkout_completed', count: 2 }] }
    const old = eventTracked({ evaluateTriggers: false, occurredAt: at(-60 * MINUTE) })
    const story = fold(contextOf([form]), old, old, eventTracked())
    expect(story.replies).toMatchObject([{ formsQueued: 0 }, { formsQueued: 0 }, { formsQueued: 1 }])
    expect(story.queue).toEqual(['nps waiting'])
  })

  it('only counts if it is imported; earlier imports are known', () => {
    const form: Partial<Form> = {
      ...nps,
      triggers: [{ event: 'checkout_completed', count: 2 }],
      audience: { all: [{ trait: 'plan', is: 'pro' }, { country: 'DE' }] },
    }
    const imported = { imported: true, evaluateTriggers: false } as const
    const identify = { imported: true, device: { $countryCode: 'DE' }, operations: { set: { plan: 'pro' } } } as const
    const history = [
      identifyRequested({ ...identify, occurredAt: at(-400 * 24 * 60 * MINUTE) }),
      eventTracked({ ...imported, occurredAt: at(-400 * 24 * 60 * MINUTE) }),
      eventTracked({ ...imported, occurredAt: at(0) }),
    ]
    expect(fold(contextOf([form]), ...history)).toMatchObject({ queue: [], decisions: [], facts: [] })
    expect(fold(contextOf([form]), ...history, eventTracked()).queue).toEqual(['nps waiting'])
    const free = identifyRequested({ operations: { set: { plan: 'free' } } })
    expect(fold(contextOf([form]), free, ...history, eventTracked()).decisions).toEqual(['nps not-in-audience'])
  })

  it('sees the traits of the identify just before', () => {
    const form: Partial<Form> = { ...nps, audience: { trait: 'plan', is: 'pro' } }
    const free = identifyRequested({ operations: { set: { plan: 'free' } } })
    const pro = identifyRequested({ operations: { set: { plan: 'pro' } } })
    expect(fold(contextOf([form]), free, eventTracked()).decisions).toEqual(['nps not-in-audience'])
    expect(fold(contextOf([form]), free, pro, eventTracked()).decisions).toEqual(['nps queued'])
  })

  it('is included in the counts of an audience', () => {
    const second = contextOf([{ ...nps, audience: { event: 'checkout_completed', exactly: 2, within: '1h' } }])
    expect(fold(second, eventTracked()).decisions).toEqual(['nps not-in-audience'])
    expect(fold(second, eventTracked(), eventTracked()).decisions).toEqual(['nps queued'])
  })

  it('changes no other user', () => {
    const story = fold(context, eventTracked({ userName: 'ada' }), eventTracked({ userName: 'bob' }))
    expect(story.rows.map(({ userId }) => userId)).toEqual([userIdFixture('ada'), userIdFixture('bob')])
  })

  it('queues nothing again when the same record is folded twice, and gets the first reply', () => {
    const event = eventTracked()
    const always = contextOf([{ ...nps, frequency: { repeat: 'always' } }])
    const queued = fold(always, event)
    const answer = confirmed(visit(), queued.rows[0]!.id)
    const story = fold(always, event, visit(), answer, event)
    expect(story.queue).toEqual(['nps delivered'])
    expect(story.facts).toEqual(['FormQueued nps', 'FormDelivered nps'])
    expect(story.replies.at(-1)).toMatchObject({ formsQueued: 1 })
    expect(story.decisions).toEqual(['nps queued'])
  })

  it('belongs to a session only if it has an SDK key', () => {
    const form: Partial<Form> = { ...nps, triggers: [{ event: 'checkout_completed', count: 2, since: 'session' }] }
    const admin = eventTracked()
    const sdk = eventTracked({ source: 'sdk' })
    expect(fold(contextOf([form]), visit(), admin, sdk).queue).toEqual([])
    expect(fold(contextOf([form]), visit(), sdk, sdk).queue).toEqual(['nps waiting'])
    const later = at(60 * MINUTE)
    const nextSession = [visit({ received: later }), eventTracked({ source: 'sdk', received: later })]
    expect(fold(contextOf([form]), visit(), sdk, ...nextSession).queue).toEqual([])
  })

  it('is counted and answered although the catalog does not contain its project', () => {
    const story = fold(context, eventTracked({ project: 'unknown' }))
    expect(story.replies).toMatchObject([{ kind: 'track', formsQueued: 0 }])
  })
})

describe('an admin identify', () => {
  it('queues no form and offers none', () => {
    const form: Partial<Form> = { ...nps, triggers: [{ firstSeen: { after: '0s' } }, { event: 'Checkout Completed' }] }
    const story = fold(contextOf([form]), eventTracked(), identifyRequested())
    expect(story.queue).toEqual(['nps waiting'])
    expect(story.replies).toHaveLength(1)
  })
})

describe('a visit', () => {
  const context = contextOf([nps, { ...nps, id: 'ces', priority: 5 }])

  it('gets one offer, the most urgent form, and the information that more wait', () => {
    const story = fold(context, eventTracked(), visit({ received: at(SECOND) }))
    expect(story.queue).toEqual(['nps waiting', 'ces offered'])
    expect(story.replies.at(-1)).toMatchObject({ kind: 'visit', offer: { formId: 'ces' }, moreWaiting: true })
  })

  it('never gets the offer of another visit', () => {
    const story = fold(context, eventTracked(), visit(), visit(), visit())
    expect(offersOf(story.replies)).toEqual(['ces', 'nps', undefined])
  })

  it('may show a form that it has just queued', () => {
    const story = fold(contextOf([{ ...nps, triggers: [{ visit: {} }] }]), visit())
    expect(offersOf(story.replies)).toEqual(['nps'])
  })

  it('triggers visit forms only when it starts a session', () => {
    const welcome = contextOf([{ ...nps, triggers: [{ visit: {} }], frequency: { repeat: 'always' } }])
    const first = visit()
    const queuedId = fold(welcome, first).rows[0]!.id
    const soon = visit({ received: at(29 * MINUTE) })
    const story = fold(welcome, first, confirmed(first, queuedId), soon, visit({ received: at(59 * MINUTE) }))
    expect(offersOf(story.replies)).toEqual(['nps', undefined, 'nps'])
  })

  it.each([
    ['no language', {}, {}, []],
    [
      'the language of the user before that of the device',
      {},
      { $deviceLanguage: 'fr', $userLanguage: 'de-CH' },
      ['de-CH', 'fr'],
    ],
    ['languages that an identify before it set', { $userLanguage: 'de' }, { $deviceLanguage: 'fr' }, ['de', 'fr']],
    ['its own languages instead of earlier ones', { $userLanguage: 'de' }, { $userLanguage: 'it' }, ['it']],
  ])('gets, with the form, %s', (_which, before, device, languages) => {
    const story = fold(context, identifyRequested({ device: before }), eventTracked(), visit({ device }))
    expect(story.replies.at(-1)).toMatchObject({ offer: { formId: 'ces', languages } })
  })

  it('does not change the queue if no gateway waits for it', () => {
    const story = fold(context, eventTracked(), { ...recorded(visit()), replyTo: undefined })
    expect(story.queue).toEqual(['nps waiting', 'ces waiting'])
    expect(story.replies).toHaveLength(1)
  })
})

describe('an offer', () => {
  const context = contextOf([nps])
  const event = eventTracked()
  const queuedId = fold(context, event).rows[0]!.id

  it('is delivered by VisitAnswered, with the time when the visit was received', () => {
    const shown = visit({ received: at(MINUTE) })
    const story = fold(context, event, shown, confirmed(shown, queuedId))
    expect(story.rows).toMatchObject([{ state: 'delivered', visitId: shown.id, shownAt: Date.parse(at(MINUTE)) }])
    expect(story.facts).toEqual(['FormQueued nps', 'FormDelivered nps'])
  })

  it('waits again after 30 seconds without VisitAnswered', () => {
    const story = fold(context, event, visit(), visit({ received: at(30 * SECOND) }))
    expect(offersOf(story.replies)).toEqual(['nps', 'nps'])
  })

  it('is delivered by a late VisitAnswered, even if it is offered again', () => {
    const first = visit()
    const second = visit({ received: at(31 * SECOND) })
    const story = fold(context, event, first, second, confirmed(first, queuedId), confirmed(second, queuedId))
    expect(story.rows).toMatchObject([{ state: 'delivered', shownAt: Date.parse(second.received) }])
    expect(story.facts).toEqual(['FormQueued nps', 'FormDelivered nps', 'FormDelivered nps'])
    expect(new Set(story.factIds).size).toBe(3)
  })

  it('is delivered once, however often VisitAnswered comes', () => {
    const shown = visit()
    const story = fold(context, event, shown, confirmed(shown, queuedId), confirmed(shown, queuedId))
    expect(story.facts).toEqual(['FormQueued nps', 'FormDelivered nps'])
  })

  it('is ignored if its row is unknown', () => {
    const shown = visit()
    const story = fold(context, event, confirmed(shown, userIdFixture('nobody')))
    expect(story.queue).toEqual(['nps waiting'])
  })
})

describe('an expired form', () => {
  it('frees its slot and its repeat at once, without waiting for a tick', () => {
    const context = contextOf([{ ...nps, expiresAfter: '1m' }])
    const story = fold(context, eventTracked(), eventTracked({ received: at(MINUTE) }))
    expect(story.queue).toEqual(['nps expired', 'nps waiting'])
    expect(story.facts).toEqual(['FormQueued nps', 'FormExpired nps', 'FormQueued nps'])
  })
})

describe('a rebuild', () => {
  it('folds activity, and queues, offers, delivers and answers nothing', () => {
    const context: FoldContext = { ...contextOf([nps]), mode: 'rebuild' }
    const shown = visit()
    const records = [identifyRequested(), eventTracked(), shown, confirmed(shown, userIdFixture('row'))]
    const all = records.map((fact) => recorded(fact))
    const draft = evolveDraft(projection, emptyDraft(), all, context)
    const [user] = draft.users.values()
    expect(user?.events.get('checkout_completed')?.total).toBe(1)
    expect(user?.queue.rows).toEqual(new Map())
    expect(draft).toMatchObject({ facts: [], replies: [], decisions: new Map() })
  })
})

describe('a form queued for later', () => {
  it('is reported with its times and the catalog revision of the decision', () => {
    const context = contextOf([{ ...nps, delay: '2h', expiresAfter: '1d', priority: 7 }])
    const event = eventTracked()
    const draft = evolveDraft(projection, emptyDraft(), [recorded(event)], context)
    expect(draft.facts.map(({ fact }) => fact)).toMatchObject([
      {
        type: 'FormQueued',
        causeId: event.id,
        at: event.received,
        priority: 7,
        showFrom: at(120 * MINUTE),
        expiresAt: at(24 * 60 * MINUTE),
        catalogRevision: 1,
      },
    ])
  })
})

/** Times go on; some visits are answered with the form that the evaluator offered. */
function tell(context: FoldContext, story: readonly { what: string; afterMs: number }[]) {
  const draft = emptyDraft()
  let elapsedMs = 0
  for (const { what, afterMs } of story) {
    elapsedMs += afterMs
    const received = at(elapsedMs)
    const isVisit = what.endsWith('visit')
    const fact = isVisit ? visit({ received }) : eventTracked({ received, evaluateTriggers: what === 'event' })
    evolveDraft(projection, draft, [recorded(fact)], context)
    const reply = draft.replies.at(-1)?.reply
    if (what !== 'answered visit' || reply?.kind !== 'visit' || !reply.offer) continue
    const answer = visitAnswered({ visitId: fact.id, ...reply.offer, received, userId: fact.userId })
    evolveDraft(projection, draft, [recorded(answer)], context)
  }
  return draft
}

describe('any sequence of events and visits', () => {
  const always: Partial<Form> = { ...nps, id: 'always', frequency: { repeat: 'always' } }
  const steps = fc.array(
    fc.record({
      what: fc.constantFrom('event', 'visit', 'answered visit', 'late event'),
      afterMs: fc.integer({ min: 0, max: 40 * SECOND }),
    }),
    { maxLength: 40 },
  )

  it('leaves one open row for each form and user, queues a `once` form once, and reports each change once', () => {
    const context = contextOf([nps, { ...always, expiresAfter: '1m' }, { ...always, id: 'urgent', priority: 1 }])
    fc.assert(
      fc.property(steps, (story) => {
        const draft = tell(context, story)
        const rows = rowsOf(draft)
        const open = rows.filter(({ state }) => state === 'waiting' || state === 'offered')
        expect(new Set(open.map(({ formId }) => formId)).size).toBe(open.length)
        expect(rows.filter(({ formId }) => formId === 'nps').length).toBeLessThan(2)
        expect(new Set(draft.facts.map(({ fact }) => fact.id)).size).toBe(draft.facts.length)
        expect(draft.facts.filter(({ fact }) => fact.type === 'FormQueued').length).toBe(rows.length)
      }),
    )
  })

  it('never shows a form again before its cooldown is over', () => {
    const context = contextOf([always, { ...always, id: 'other' }], { formCooldown: '1m' })
    fc.assert(
      fc.property(steps, (story) => {
        const shown = rowsOf(tell(context, story))
          .flatMap(({ shownAt }) => (shownAt === null ? [] : Date.parse(shownAt)))
          .toSorted((a, b) => a - b)
        const gaps = shown.slice(1).map((instant, n) => instant - (shown[n] ?? 0))
        expect(Math.min(MINUTE, ...gaps)).toBe(MINUTE)
      }),
    )
  })
})
