import { evolveDraft } from '@nextvisit/consumer'
import { eventTracked, identifyRequested, userIdFixture, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { at, contextOf, MINUTE, nps, recorded } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { createProjection } from './projection.ts'
import { loadDraft } from './load-draft.ts'

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterEach(() => given.clear())
afterAll(() => given.stop())

const searched = eventTracked({ eventName: 'Searched', received: at(0) })
const checkout = eventTracked({ received: at(MINUTE) })
const ofSearchers = { ...nps, audience: { segment: 'searchers' } }
const segments = [{ id: 'searchers', where: { not: { event: 'Searched', exactly: 0 } } }]

/** A user with a long history: events of many names, and a form that was shown many times. */
async function givenHistory(names: number, shown: number): Promise<void> {
  const { organization, project, userId } = checkout
  await given.prisma.$executeRaw(sql`
    INSERT INTO event_occurrences (organization, project, user_id, slug, total, latest_ms, session_count)
    SELECT ${organization}, ${project}, ${userId}::uuid, 'event_' || n, 1, ARRAY[n], 0 FROM generate_series(1, ${names}::int) AS n`)
  await given.prisma.$executeRaw(sql`
    INSERT INTO queue (organization, project, user_id, id, form_id, environment, state, priority, queued_at, show_from, shown_at,
      cause_id, catalog_revision, partition)
    SELECT ${organization}, ${project}, ${userId}::uuid, gen_random_uuid(), 'nps', 'P', 'delivered', 0, now(), now(), now(),
      gen_random_uuid(), 1, 3 FROM generate_series(1, ${shown}::int)`)
}

async function loadedFor(...facts: Parameters<typeof recorded>[0][]) {
  const context = contextOf([ofSearchers], { segments })
  const draft = await loadDraft(
    given.prisma,
    facts.map((fact) => recorded(fact)),
    context,
  )
  const users = [...draft.users.values()]
  return {
    slugs: users.flatMap(({ events }) => [...events.keys()]).toSorted(),
    rows: users.reduce((sum, { queue }) => sum + queue.rows.size, 0),
  }
}

describe('a load', () => {
  it('reads a number of rows that does not depend on the events or shown forms of its users', async () => {
    await given.fold(contextOf([nps]), searched, checkout)
    const before = await loadedFor(checkout, visit())
    expect(before).toEqual({ slugs: ['checkout_completed', 'searched'], rows: 1 })
    await givenHistory(2_000, 500)
    expect(await loadedFor(checkout, visit())).toEqual(before)
    expect((await loadedFor(identifyRequested())).slugs, 'an admin identify asks for nothing').toEqual([])
  })

  it('includes an older event that only a later form asks for', async () => {
    await given.fold(contextOf([nps]), searched)
    await given.fold(contextOf([ofSearchers], { segments }), checkout)
    expect(await given.queue()).toEqual(['nps waiting'])
  })

  it('uses one catalog with the fold, also if the catalog changes meanwhile', async () => {
    await given.fold(contextOf([]), searched)
    const projection = createProjection({ publishReplies: async () => {} })
    const [withoutForm, withForm] = [contextOf([]), contextOf([ofSearchers], { segments })]
    const record = recorded(checkout)
    const evolved = async (loadedWith: typeof withForm, foldedWith: typeof withForm) => {
      const draft = await projection.load(given.prisma, [record], loadedWith)
      return [...evolveDraft(projection, draft, [record], foldedWith).decisions.values()].map(({ outcome }) => outcome)
    }
    expect(await evolved(withForm, withForm)).toEqual(['queued'])
    expect(await evolved(withForm, withoutForm)).toEqual(['queued'])
    expect(await evolved(withoutForm, withForm)).toEqual([])
  })
})

describe('the count of a shown form', () => {
  it('grows once for each delivered row, and remains when there are many rows', async () => {
    const context = contextOf([{ ...nps, frequency: { repeat: { times: 2 } } }])
    for (const minute of [0, 10]) {
      await given.fold(context, eventTracked({ received: at(minute * MINUTE) }))
      for (const again of [1, 2]) {
        const shown = visit({ received: at((minute + again) * MINUTE) })
        const [row] = await given.prisma.queueRow.findMany({ orderBy: { queuedAt: 'desc' } })
        const answer = { visitId: shown.id, queuedId: row?.id ?? '', formId: 'nps', received: shown.received }
        await given.fold(context, visitAnswered({ ...answer, userId: userIdFixture('ada') }))
      }
    }
    expect(await given.prisma.shownForm.findMany()).toMatchObject([
      { formId: 'nps', times: 2n, lastAt: new Date(at(12 * MINUTE)) },
    ])
    await given.fold(context, eventTracked({ received: at(30 * MINUTE) }))
    expect(await given.prisma.decision.findMany()).toMatchObject([{ outcome: 'repeat-exhausted' }])
  })
})
