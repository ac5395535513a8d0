import type { Trigger } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { countKeyOf, queuedIdOf, userIdOf } from '@nextvisit/domain'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { at, contextOf, MINUTE, nps, SECOND } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { readForms, readTriggerCounts } from './queries.ts'

/** decisions.md, Beyond the document: why a form did, or did not, reach a user. */
const ada = { organization: 'acme', project: 'shop', userId: userIdOf('acme', 'shop', 'ada') }
let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterAll(() => given?.stop())
beforeEach(() => given.clear())

const forAda = { userId: ada.userId }
const pro = { ...nps, id: 'pro', audience: { trait: 'plan', is: 'pro' } }

describe('the answer why a form reached a user or not', () => {
  it('is the last decision on each form, with the comparison of each gate', async () => {
    const [free, tracked] = [
      identifyRequested({ ...forAda, operations: { set: { plan: 'free' } } }),
      eventTracked({ ...forAda, received: at(SECOND) }),
    ]
    await given.fold(contextOf([nps, pro]), free, tracked)
    const read = await readForms(given.prisma, ada)
    expect(read?.forms.map(({ formId, decision, reason }) => [formId, decision, reason])).toEqual([
      ['nps', 'queued', undefined],
      ['pro', 'not-queued', 'not-in-audience'],
    ])
    const [queued, refused] = read?.forms ?? []
    expect(queued?.gates.map(({ gate, passed }) => [gate, passed])).toEqual(
      ['live', 'audience', 'sample', 'repeat', 'cooldown', 'slot'].map((gate) => [gate, true]),
    )
    expect(refused).toEqual({
      formId: 'pro',
      decision: 'not-queued',
      reason: 'not-in-audience',
      at: at(SECOND),
      requestId: tracked.id,
      trigger: { event: 'Checkout Completed' },
      catalogRevision: 1,
      gates: [
        {
          gate: 'live',
          passed: true,
          compared: { enabled: true, startsAt: null, endsAt: null, now: at(SECOND) },
        },
        {
          gate: 'audience',
          passed: false,
          compared: { leaf: { trait: 'plan', is: 'pro' }, negated: false, actual: 'free' },
        },
      ],
    })
  })

  it('also covers an event whose properties do not match the trigger', async () => {
    const where = { property: 'total', atLeast: 100 }
    const large = { ...nps, triggers: [{ event: 'Checkout Completed', where }] }
    const context = contextOf([large])
    const events = [{ total: 40 }, { total: 100 }].map((properties, n) =>
      eventTracked({ ...forAda, received: at(n * SECOND), properties }),
    )
    await given.fold(context, identifyRequested(forAda), ...events.slice(0, 1))
    expect((await readForms(given.prisma, ada))?.forms).toMatchObject([
      {
        decision: 'not-queued',
        reason: 'properties-differ',
        trigger: { event: 'Checkout Completed', where },
        gates: [{ gate: 'where', passed: false, compared: { leaf: where, negated: false, actual: 40 } }],
      },
    ])
    await given.fold(context, ...events.slice(1))
    expect((await readForms(given.prisma, ada))?.forms).toMatchObject([
      { decision: 'queued', trigger: large.triggers[0] },
    ])
  })

  it('follows the next record, and an event that no form reacts to leaves it alone', async () => {
    await given.fold(contextOf([nps]), identifyRequested(forAda), eventTracked(forAda))
    const again = eventTracked({ ...forAda, received: at(SECOND) })
    await given.fold(contextOf([nps]), again, eventTracked({ ...forAda, slug: 'other' }))
    const [decision] = (await readForms(given.prisma, ada))?.forms ?? []
    expect(decision).toMatchObject({ reason: 'repeat-exhausted', requestId: again.id, at: at(SECOND) })
    expect(decision?.gates.at(-1)).toEqual({
      gate: 'repeat',
      passed: false,
      compared: { rule: 'once', timesQueued: 1, lastShownAt: null },
    })
  })

  it('shows the queue: open rows first, then closed ones', async () => {
    const forms = [
      { ...nps, id: 'a', priority: 9, expiresAfter: '1d' },
      { ...nps, id: 'b', delay: '1h' },
    ]
    const context = contextOf(forms)
    const tracked = eventTracked(forAda)
    await given.fold(context, identifyRequested(forAda), tracked)
    const shown = visit({ ...forAda, received: at(SECOND) })
    await given.fold(context, shown)
    expect((await readForms(given.prisma, ada))?.queue).toMatchObject([
      { formId: 'a', state: 'offered', offeredAt: at(SECOND), deliveredAt: null },
      { formId: 'b', state: 'waiting', showFrom: at(60 * MINUTE), offeredAt: null },
    ])
    const queuedId = queuedIdOf(tracked.id, tracked.received, 'a')
    const answered = visitAnswered({ ...forAda, visitId: shown.id, queuedId, formId: 'a', received: at(SECOND) })
    await given.fold(context, answered)
    expect((await readForms(given.prisma, ada))?.queue).toEqual([
      expect.objectContaining({ formId: 'b', state: 'waiting' }),
      {
        queuedId,
        formId: 'a',
        state: 'delivered',
        queuedAt: at(0),
        showFrom: at(0),
        expiresAt: at(24 * 60 * MINUTE),
        offeredAt: null,
        deliveredAt: at(SECOND),
        answerStatus: null,
        startedAt: null,
        endedAt: null,
        requestId: tracked.id,
      },
    ])
  })

  it('is absent for a user who was never identified', async () => {
    await given.fold(contextOf([nps]), eventTracked(forAda))
    expect(await readForms(given.prisma, ada)).toBeUndefined()
    await given.fold(contextOf([nps]), identifyRequested({ ...forAda, received: at(MINUTE) }))
    expect((await readForms(given.prisma, ada))?.forms).toHaveLength(1)
    expect(await readForms(given.prisma, { ...ada, project: 'other' })).toBeUndefined()
  })

  it('includes the progress of the user with a trigger that counts', async () => {
    const triggers: Trigger[] = [
      { event: 'Search Done', count: 2, within: '1d' },
      { event: 'Search Done', count: 9 },
      { event: 'Search Done', count: 2, since: 'session' },
      { event: 'Misspelt' },
      { visit: {} },
    ]
    const context = contextOf([{ ...nps, triggers }])
    const searches = [0, 60 * MINUTE].map((after) =>
      eventTracked({ ...forAda, slug: 'search_done', received: at(after), occurredAt: at(after) }),
    )
    await given.fold(context, identifyRequested(forAda), ...searches)
    const countsAt = async (after: number) =>
      (await readTriggerCounts(given.prisma, { ...ada, triggers: [...triggers] }, Date.parse(at(after)))).counts
    expect(await countsAt(60 * MINUTE)).toEqual([2, 2, 0, 0, null])
    expect(await countsAt(24 * 60 * MINUTE)).toEqual([1, 2, 0, 0, null])
  })

  it('names the last event that counted, but was too old to trigger', async () => {
    const DAY = 24 * 60 * MINUTE
    const where = { property: 'total', atLeast: 100 }
    const [, hash = ''] = countKeyOf({ event: 'Paid', where }).split('#')
    const triggers: Trigger[] = [{ event: 'Paid' }, { event: 'Paid', count: 2, where }, { event: 'Other' }]
    const context = contextOf([{ ...nps, triggers }])
    const paid = { ...forAda, slug: 'paid', evaluateTriggers: false, countsFor: [hash] }
    const missedOf = async () =>
      (await readTriggerCounts(given.prisma, { ...ada, triggers: [...triggers] }, Date.parse(at(DAY)))).missed
    await given.fold(
      context,
      identifyRequested(forAda),
      eventTracked({ ...paid, received: at(DAY), occurredAt: at(0) }),
    )
    const missed = { at: at(0), receivedAt: at(DAY) }
    expect(await missedOf()).toEqual([missed, missed, null])
    await given.fold(
      context,
      eventTracked({ ...paid, evaluateTriggers: true, received: at(DAY + MINUTE), occurredAt: at(DAY + MINUTE) }),
    )
    expect(await missedOf()).toEqual([missed, missed, null])
  })

  it('contains decisions that were stored without gates', async () => {
    await given.fold(contextOf([nps]), identifyRequested(forAda), eventTracked(forAda))
    await given.prisma.$executeRaw(sql`UPDATE decisions SET trigger = NULL, gates = DEFAULT`)
    const [decision] = (await readForms(given.prisma, ada))?.forms ?? []
    expect(decision).toMatchObject({ decision: 'queued', gates: [] })
    expect(decision).not.toHaveProperty('trigger')
  })
})
