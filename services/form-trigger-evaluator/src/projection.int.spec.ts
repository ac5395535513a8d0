import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { SealedFormFact, type UserFact, type VisitReply } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, userIdFixture, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import * as fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { at, contextOf, MINUTE, nps, PARTITION, SECOND } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { readQueue } from './queries.ts'

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterEach(() => given.clear())
afterAll(() => given.stop())

const ada = { organization: 'acme', project: 'shop', userId: userIdFixture('ada') }

const sdk = (ms: number) => eventTracked({ source: 'sdk', received: at(ms) })

/** Each record in a batch of its own, so that everything goes through the database. */
async function foldEach(context: ReturnType<typeof contextOf>, ...facts: UserFact[]): Promise<void> {
  for (const fact of facts) await given.fold(context, fact)
}

async function offerAt(context: ReturnType<typeof contextOf>, ms: number) {
  const shown = visit({ received: at(ms) })
  const [reply] = await given.fold(context, shown)
  const { offer } = reply as VisitReply
  const answered = offer && { visitId: shown.id, queuedId: offer.queuedId, formId: offer.formId }
  const answer = answered && visitAnswered({ ...answered, received: shown.received, userId: shown.userId })
  return { formId: offer?.formId, answer: answer as UserFact }
}

describe('a batch', () => {
  it('writes the queue, the decision and the record for form-events', async () => {
    const event = eventTracked()
    const context = contextOf([{ ...nps, delay: '1h', expiresAfter: '1d', priority: 2 ** 40 }])
    expect(await given.fold(context, event)).toMatchObject([{ kind: 'track', recordId: event.id, formsQueued: 1 }])

    const [row] = await given.prisma.queueRow.findMany()
    const later = { showFrom: new Date(at(60 * MINUTE)), expiresAt: new Date(at(24 * 60 * MINUTE)) }
    const cause = { causeId: event.id, catalogRevision: 1, partition: PARTITION }
    expect(row).toMatchObject({ ...ada, formId: 'nps', state: 'waiting', priority: 2n ** 40n, ...later, ...cause })

    const decision = { formId: 'nps', outcome: 'queued', recordId: event.id, decidedAt: new Date(event.received) }
    expect(await given.prisma.decision.findMany()).toMatchObject([{ ...ada, ...decision, catalogRevision: 1 }])

    const [told] = await given.outbox()
    const fact = SealedFormFact.parse(JSON.parse(told?.value ?? ''))
    expect(told).toMatchObject({
      topic: 'form-events',
      key: ada.userId,
      headers: { ce_id: fact.id, ce_type: 'FormQueued' },
    })
    expect(fact).toMatchObject({ ...ada, queuedId: row?.id, causeId: event.id, at: event.received, catalogRevision: 1 })
  })

  it('keeps the last decision for each user and form', async () => {
    const later = eventTracked({ received: at(MINUTE) })
    await foldEach(contextOf([nps]), eventTracked(), later)
    expect(await given.prisma.decision.findMany()).toMatchObject([{ outcome: 'repeat-exhausted', recordId: later.id }])
  })

  it('continues with the rows of the batch before it', async () => {
    const form = {
      ...nps,
      triggers: [{ event: 'checkout_completed', count: 3, within: '7d' }],
      audience: {
        all: [
          { trait: '__proto__', is: 'x' },
          { device: '$deviceOs' as const, is: 'iOS' },
        ],
      },
    }
    const operations = { set: JSON.parse('{"__proto__":"x"}') as Record<string, string> }
    const context = contextOf([form])
    await foldEach(context, identifyRequested({ operations, device: { $deviceOs: 'iOS' } }))
    await foldEach(context, eventTracked(), eventTracked({ received: at(MINUTE) }))
    expect(await given.queue()).toEqual([])
    await foldEach(context, eventTracked({ received: at(2 * MINUTE) }))
    expect(await given.queue()).toEqual(['nps waiting'])
  })

  it('keeps the session and its counts', async () => {
    const form = { ...nps, triggers: [{ event: 'checkout_completed', count: 2, since: 'session' as const }] }
    const context = contextOf([form])
    await foldEach(context, visit(), sdk(SECOND), visit({ received: at(40 * MINUTE) }), sdk(41 * MINUTE))
    expect(await given.queue()).toEqual([])
    await foldEach(context, sdk(42 * MINUTE))
    expect(await given.queue()).toEqual(['nps waiting'])
  })

  it('changes nothing when the same record is folded again', async () => {
    const always = contextOf([{ ...nps, frequency: { repeat: 'always' } }])
    const event = eventTracked()
    await foldEach(always, event)
    await foldEach(always, (await offerAt(always, SECOND)).answer)
    expect(await given.fold(always, event)).toMatchObject([{ formsQueued: 1 }])
    expect(await given.queue()).toEqual(['nps delivered'])
    expect(await given.told()).toEqual(['FormQueued nps', 'FormDelivered nps'])
  })
})

describe('an offered form', () => {
  const context = contextOf([nps])

  it('is confirmed by a retried VisitAnswered, however late', async () => {
    await foldEach(context, eventTracked())
    const { answer } = await offerAt(context, MINUTE)
    const letter = await given.foldUnreadable(context)
    await given.tick(context, 5 * MINUTE)
    expect(await given.queue()).toEqual(['nps waiting'])

    await given.retry(context, letter, answer)
    expect(await given.queue()).toEqual(['nps delivered'])
    expect(await given.told()).toEqual(['FormQueued nps', 'FormDelivered nps'])
    expect((await offerAt(context, 6 * MINUTE)).formId).toBeUndefined()
    await foldEach(context, eventTracked({ received: at(7 * MINUTE) }))
    expect(await given.queue(), 'once').toEqual(['nps delivered'])
  })

  it('is confirmed by VisitAnswered, and counts as shown from then on', async () => {
    await foldEach(context, eventTracked())
    const { formId, answer } = await offerAt(context, MINUTE)
    expect(formId).toBe('nps')
    expect(await given.queue()).toEqual(['nps offered'])
    await foldEach(context, answer)
    const [row] = await given.prisma.queueRow.findMany()
    expect(row).toMatchObject({ state: 'delivered', shownAt: new Date(at(MINUTE)), offeredAt: null })
    await foldEach(context, eventTracked({ received: at(2 * MINUTE) }))
    expect(await given.queue()).toEqual(['nps delivered'])
    expect(await given.told()).toEqual(['FormQueued nps', 'FormDelivered nps'])
  })

  it('waits again if nothing confirms it within 30 seconds', async () => {
    await foldEach(context, eventTracked())
    const { answer } = await offerAt(context, 0)
    await given.tick(context, 30 * SECOND - 1)
    expect(await given.queue()).toEqual(['nps offered'])
    await given.tick(context, 30 * SECOND)
    expect(await given.queue()).toEqual(['nps waiting'])
    expect((await offerAt(context, MINUTE)).formId).toBe('nps')
    await foldEach(context, answer)
    expect(await given.queue()).toEqual(['nps delivered'])
  })

  it('is delivered by a VisitAnswered that comes after it has expired', async () => {
    const expiring = contextOf([{ ...nps, expiresAfter: '1m' }])
    await foldEach(expiring, eventTracked())
    const { answer } = await offerAt(expiring, 50 * SECOND)
    await given.tick(expiring, 2 * MINUTE)
    expect(await given.queue()).toEqual(['nps expired'])
    await foldEach(expiring, answer)
    expect(await given.queue()).toEqual(['nps delivered'])
    expect(await given.told()).toEqual(['FormQueued nps', 'FormExpired nps', 'FormDelivered nps'])
  })

  it('frees its slot in the batch that confirms it', async () => {
    const always = contextOf([{ ...nps, frequency: { repeat: 'always' } }])
    await foldEach(always, eventTracked())
    const { answer } = await offerAt(always, SECOND)
    await given.fold(always, answer, eventTracked({ received: at(MINUTE) }))
    expect(await given.queue()).toEqual(['nps delivered', 'nps waiting'])
  })

  it('goes to one visit only, however visits are cut into batches', async () => {
    const forms = Array.from({ length: 5 }, (_, n) => ({ ...nps, id: `form-${n}` }))
    const many = contextOf(forms)
    const split = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 3, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(split, async (sizes) => {
        await given.clear()
        await given.fold(many, eventTracked())
        const offered: (string | undefined)[] = []
        for (const size of sizes) {
          const replies = await given.fold(many, ...Array.from({ length: size }, () => visit({ received: at(SECOND) })))
          offered.push(...replies.map((reply) => (reply as VisitReply).offer?.queuedId))
        }
        const handedOut = offered.filter((id) => id !== undefined)
        expect(new Set(handedOut).size).toBe(handedOut.length)
        expect(handedOut.length).toBe(Math.min(offered.length, forms.length))
      }),
      { numRuns: 10 },
    )
  })
})

describe('a tick', () => {
  const expiring = contextOf([{ ...nps, expiresAfter: '1m' }])

  it('expires a due form once, so that it may be queued again', async () => {
    await foldEach(expiring, eventTracked())
    await given.tick(expiring, MINUTE - 1)
    expect(await given.queue()).toEqual(['nps waiting'])
    await given.tick(expiring, MINUTE)
    await given.tick(expiring, MINUTE)
    expect(await given.queue()).toEqual(['nps expired'])
    await foldEach(expiring, eventTracked({ received: at(2 * MINUTE) }))
    expect(await given.queue()).toEqual(['nps expired', 'nps waiting'])
    expect(await given.told()).toEqual(['FormQueued nps', 'FormExpired nps', 'FormQueued nps'])
  })

  it('expires an offer only after it has lapsed', async () => {
    await foldEach(expiring, eventTracked())
    await offerAt(expiring, 50 * SECOND)
    await given.tick(expiring, 70 * SECOND)
    expect(await given.queue()).toEqual(['nps offered'])
    await given.tick(expiring, 80 * SECOND)
    expect(await given.queue()).toEqual(['nps expired'])
  })

  it('cancels the waiting rows of a form that was disabled or removed', async () => {
    const three = [nps, { ...nps, id: 'ces' }, { ...nps, id: 'stays' }]
    await foldEach(contextOf(three), eventTracked(), eventTracked({ userName: 'bob' }))
    const changed = contextOf([
      { ...nps, enabled: false },
      { ...nps, id: 'stays' },
    ])
    await given.tick(changed, SECOND)
    await given.tick(changed, 2 * SECOND)
    const states = await given.queue()
    expect(states.filter((state) => state.endsWith('cancelled')).toSorted()).toEqual([
      'ces cancelled',
      'ces cancelled',
      'nps cancelled',
      'nps cancelled',
    ])
    expect(states.filter((state) => state.endsWith('waiting'))).toEqual(['stays waiting', 'stays waiting'])
    expect((await given.told()).filter((told) => told.startsWith('FormCancelled'))).toHaveLength(4)
  })

  it('permits a cancelled form to be queued again', async () => {
    await foldEach(contextOf([nps]), eventTracked())
    await given.tick(contextOf([{ ...nps, enabled: false }]), SECOND)
    await foldEach(contextOf([nps]), eventTracked({ received: at(MINUTE) }))
    expect(await given.queue()).toEqual(['nps cancelled', 'nps waiting'])
    expect(await given.told()).toEqual(['FormQueued nps', 'FormCancelled nps', 'FormQueued nps'])
  })

  it('cancels an offered form only after the offer has lapsed; a late answer still delivers it', async () => {
    await foldEach(contextOf([nps]), eventTracked())
    const { answer } = await offerAt(contextOf([nps]), SECOND)
    await given.tick(contextOf([]), 2 * SECOND)
    expect(await given.queue()).toEqual(['nps offered'])
    // The first tick ends the offer, the second finds it waiting.
    await given.tick(contextOf([]), MINUTE)
    await given.tick(contextOf([]), MINUTE)
    expect(await given.queue()).toEqual(['nps cancelled'])
    await foldEach(contextOf([]), answer)
    expect(await given.queue()).toEqual(['nps delivered'])
  })

  it.each([
    ['project', contextOf([], { id: 'elsewhere' }).catalog],
    ['organization', { ...staticCatalog([]), revision: () => 2 }],
  ])('cancels the waiting rows of a form whose %s was removed', async (_, catalog) => {
    await foldEach(contextOf([nps]), eventTracked())
    await given.tick({ ...contextOf([]), catalog }, SECOND)
    expect(await given.queue()).toEqual(['nps cancelled'])
    expect(await given.told()).toEqual(['FormQueued nps', 'FormCancelled nps'])
  })

  it('cancels nothing of an organization that the catalog does not hold, or that it holds at an earlier revision', async () => {
    await foldEach(contextOf([nps]), eventTracked())
    await given.tick({ ...contextOf([]), catalog: staticCatalog([]) }, SECOND)
    expect(await given.queue()).toEqual(['nps waiting'])
    await given.prisma.$executeRaw(sql`UPDATE queue SET catalog_revision = 2`)
    await offerAt(contextOf([nps]), SECOND)
    // The first tick ends the offer, the second finds it waiting.
    await given.tick(contextOf([]), MINUTE)
    await given.tick(contextOf([]), MINUTE)
    expect(await given.queue()).toEqual(['nps waiting'])
  })

  it("leaves other partitions' rows to their owners", async () => {
    await foldEach(expiring, eventTracked())
    await given.tick({ ...expiring, partition: PARTITION + 1 }, 60 * MINUTE)
    expect(await given.queue()).toEqual(['nps waiting'])
  })

  it('does nothing in a rebuild', async () => {
    await foldEach(expiring, eventTracked())
    await given.tick({ ...expiring, mode: 'rebuild' }, 60 * MINUTE)
    expect(await given.queue()).toEqual(['nps waiting'])
  })
})

describe("a read of a user's queue", () => {
  it('returns the waiting forms in the order in which visits take them, without offered ones', async () => {
    const forms = [nps, { ...nps, id: 'urgent', priority: 5, expiresAfter: '1d' }, { ...nps, id: 'ces' }]
    const context = contextOf(forms)
    await foldEach(context, eventTracked(), eventTracked({ userName: 'bob' }))
    const { waiting } = await readQueue(given.prisma, ada)
    expect(waiting.map(({ formId }) => formId)).toEqual(['urgent', 'ces', 'nps'])
    expect(waiting[0]).toMatchObject({ priority: 5, queuedAt: at(0), showFrom: at(0), expiresAt: at(24 * 60 * MINUTE) })
    await offerAt(context, SECOND)
    expect((await readQueue(given.prisma, ada)).waiting.map(({ formId }) => formId)).toEqual(['ces', 'nps'])
  })
})
