import { randomUUID } from 'node:crypto'
import {
  answerGiven,
  formAnswered,
  formDelivered,
  formExpired,
  formQueued,
  queueErased,
} from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { until } from '@nextvisit/testing'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answerStory, tellAnswers } from '../test/answer-story.ts'
import { givenCollector, readCollected, readFolded, readResults, readUnequalSums } from '../test/given-collector.ts'
import { readFormAnswers } from './queries.ts'

const given = givenCollector()
const FORM = { organization: 'acme', project: 'shop', formId: 'nps', environment: 'P' } as const
const read = () => readResults(given.db(), FORM)
const readAnswers = async () => (await readFormAnswers(given.db(), { ...FORM, limit: 100 })).answers
const score = (value: number, special: Parameters<typeof answerGiven>[0] = {}) =>
  answerGiven({ elements: { score: 'nps' }, answers: { score: value }, ...special })
const part = (value: number, special: Parameters<typeof answerGiven>[0] = {}) =>
  score(value, { status: 'partial', ...special })

/** Returns an answer of 100,000 characters to an element. */
const long = (element: string) =>
  formAnswered(
    answerGiven({ status: 'partial', elements: { [element]: 'text' }, answers: { [element]: 'x'.repeat(100_000) } }),
  )

describe('an offer', () => {
  it('merges partial answers, and finished answers replace them', async () => {
    const reason = answerGiven({ status: 'partial', elements: { reason: 'text' }, answers: { reason: 'Slow' } })
    await given.fold([formQueued(), formAnswered(part(3)), formAnswered(reason)])
    expect(await readAnswers()).toMatchObject([
      { answers: { score: 3, reason: 'Slow' }, status: 'partial', endedAt: null },
    ])
    const finished = score(9)
    const facts = [formQueued(), formAnswered(part(3)), formAnswered(reason), formAnswered(finished)]
    await given.fold(facts)
    expect(await readAnswers()).toMatchObject([
      { answers: { score: 9 }, status: 'finished', endedAt: finished.received },
    ])
  })

  it('moves the count of an answer that changes', async () => {
    await given.fold([formQueued(), formAnswered(part(3)), formAnswered(part(9))], { sizes: [1] })
    const { elements } = await read()
    expect(elements).toMatchObject([{ count: 1, average: 9, distribution: [{ value: 9, count: 1 }], nps: 100 }])
  })

  it('moves its counts to the language and environment of the latest answer', async () => {
    await given.fold([
      formQueued(),
      formDelivered({ language: 'en' }),
      formAnswered(part(3, { language: 'en' })),
      formAnswered(part(3, { language: 'de', environment: 'T' })),
    ])
    expect((await read()).elements).toEqual([])
    const moved = await readResults(given.db(), { ...FORM, environment: 'T', language: 'de' })
    expect(moved.elements).toMatchObject([{ id: 'score', count: 1 }])
  })

  it('is ended by the first end in the log, and later answers change nothing', async () => {
    const facts = [formQueued(), formDelivered(), formAnswered(score(9)), formAnswered(score(2), { outcome: 'late' })]
    await given.fold(facts)
    const { funnel, unmatched } = await read()
    expect({ funnel, unmatched }).toEqual({
      funnel: { queued: 1, delivered: 1, started: 1, finished: 1, dismissed: 0, expired: 0 },
      unmatched: 0,
    })
    expect(await readAnswers()).toMatchObject([{ answers: { score: 9 } }])
  })

  it('that is dismissed without an answer has none in the list', async () => {
    await given.fold([formQueued(), formAnswered(answerGiven({ status: 'dismissed', elements: {}, answers: {} }))])
    expect(await readAnswers()).toEqual([])
    expect((await read()).funnel).toMatchObject({ started: 0, finished: 0, dismissed: 1 })
  })

  it('keeps the answers of the latest request alone once all would be too long', async () => {
    await given.fold([formQueued(), long('a'), long('b'), long('c')])
    expect(Object.keys((await readAnswers())[0]?.answers ?? {})).toEqual(['c'])
    expect((await read()).elements.map(({ id }) => id)).toEqual(['c'])
  })

  it('whose record was not folded is not counted, and its steps are counted as ignored', async () => {
    const queued = formQueued()
    const steps = [formDelivered(), formAnswered(part(3)), formAnswered(score(9)), formExpired()]
    const others = [formAnswered(score(2), { outcome: 'late' }), formAnswered(score(2), { outcome: 'unmatched' })]
    expect(await given.fold([...steps, ...others, queued])).toBe(4)
    expect((await read()).funnel).toMatchObject({ queued: 1, delivered: 0, finished: 0, expired: 0 })
    await given.empty()
    expect(await given.fold([queued, ...steps, ...others])).toBe(0)
  })

  it('that its user never had counts once, even if its answer comes again after days', async () => {
    const [answered, other] = [score(1), score(2)]
    const later = score(3, { received: '2026-11-09T10:00:00.000Z' })
    const facts = [answered, other, later, answered].map((one) => formAnswered(one, { outcome: 'unmatched' }))
    await given.fold(facts, { sizes: [1] })
    expect((await read()).unmatched).toBe(3)
  })

  it('that was recorded once is not unmatched if a restored evaluator decides again', async () => {
    const answer = score(9)
    const facts = [formQueued(), formDelivered(), formAnswered(answer), formAnswered(answer, { outcome: 'unmatched' })]
    for (const sizes of [[1], [4]]) {
      await given.empty()
      await given.fold(facts, { sizes })
      expect(await read()).toMatchObject({ funnel: { finished: 1 }, unmatched: 0 })
    }
  })

  it('counts no text of a user', async () => {
    const elements = { plan: 'choice', uses: 'choices', reason: 'text' } as const
    const answers = { plan: { other: 'My secret' }, uses: ['home', { other: 'My secret' }], reason: 'My secret' }
    await given.fold([formQueued(), formAnswered(answerGiven({ elements, answers }))])
    expect(JSON.stringify(await read())).not.toContain('secret')
    expect((await read()).elements).toMatchObject([
      { id: 'plan', distribution: [{ value: 'other', count: 1 }] },
      { id: 'reason', count: 1, distribution: [] },
      { id: 'uses', count: 1, distribution: [{ value: 'home' }, { value: 'other' }] },
    ])
  })
})

describe('an erasure', () => {
  const bob = { userName: 'bob' }
  const facts = [
    formQueued(),
    formDelivered(),
    formAnswered(score(9)),
    formQueued(bob),
    formDelivered(bob),
    formAnswered(score(4, bob)),
    formAnswered(score(1, { offerId: randomUUID() }), { outcome: 'unmatched' }),
  ]

  it('deletes the answers of its user, and keeps every count', async () => {
    await given.fold(facts)
    const before = await read()
    await given.fold([...facts, queueErased()])
    expect(await read()).toEqual(before)
    expect(await readAnswers()).toMatchObject([{ answers: { score: 4 } }])
    const rows = await given.db().$queryRaw(sql`SELECT rows::int FROM erased_users`)
    expect(rows).toEqual([{ rows: 1 }])
  })

  it('counts the answers of the batch that contains it', async () => {
    await given.fold([...facts, queueErased()])
    const together = await readCollected(given.db())
    await given.empty()
    await given.fold([...facts, queueErased()], { sizes: [1] })
    expect(await readCollected(given.db())).toEqual(together)
  })

  it('locks the counts in the order of their keys, as other statements do', async () => {
    // Their order on disk is another one.
    const answers = [
      part(1, { answers: { z: 1 }, elements: { z: 'nps' } }),
      part(2, { answers: { a: 2 }, elements: { a: 'nps' } }),
    ]
    const before = [formQueued(), ...answers.map((one) => formAnswered(one))]
    await given.fold(before, { sizes: [1] })
    const other = given.connectOnce()
    const lock = (element: string) =>
      other.$queryRaw(sql`SELECT FROM element_days WHERE element = ${element} FOR UPDATE NOWAIT`)
    await other.$executeRaw(sql`BEGIN`)
    await lock('a')
    const erased = given.fold([...before, queueErased()])
    await until(async () => {
      const waiting = sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      return (await given.db().$queryRaw<object[]>(waiting)).length === 1
    })
    expect(await lock('z')).toHaveLength(2)
    await other.$executeRaw(sql`COMMIT`)
    await erased
    expect(await given.db().$queryRaw(sql`SELECT FROM element_days`)).toEqual([])
  })

  it('is named beside the answers of a user who returned', async () => {
    const erasure = queueErased({ causeOffset: 3 })
    const back = { queuedId: randomUUID(), causeOffset: 4 }
    const again = score(7, { offerId: back.queuedId, received: '2026-11-02T10:05:00.000Z' })
    await given.fold([...facts, erasure, formQueued(back), formAnswered(again)])
    expect(await readAnswers()).toMatchObject([
      { answers: { score: 7 }, erasedUntil: erasure.keysUntil },
      { answers: { score: 4 } },
    ])
    expect((await readAnswers())[1]).not.toHaveProperty('erasedUntil')
  })

  it('hides a second copy of a form that was queued before it', async () => {
    const queued = formQueued({ causeOffset: 7 })
    const erasure = queueErased({ causeOffset: 8 })
    const later = formQueued({ causeOffset: 9, queuedId: randomUUID() })
    await given.fold([queued, erasure, queued, erasure, later])
    expect(await given.db().$queryRaw(sql`SELECT id FROM offers`)).toEqual([{ id: later.queuedId }])
    expect((await read()).funnel.queued).toBe(2)
  })

  it('whose keys are destroyed leaves what the clear members say', async () => {
    await given.db().$executeRaw(sql`TRUNCATE user_keys`)
    const keys = { find: async () => new Map(), pull: async () => {}, keepOnly: () => {}, stop: () => {} }
    await given.fold(facts, { userKeys: keys })
    const { funnel, unmatched, elements, medianSecondsToAnswer } = await read()
    expect(funnel).toMatchObject({ delivered: 2, started: 2, finished: 2 })
    expect([unmatched, elements, medianSecondsToAnswer]).toEqual([1, [], 0])
    expect(await readAnswers()).toMatchObject([{ answers: {} }, { answers: {} }])
  })
})

describe('any story of answers and erasures', () => {
  it('leaves the same rows in any batches, with any record twice, and in a rebuild without destroyed keys', async () => {
    await fc.assert(
      fc.asyncProperty(
        answerStory,
        fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1 }),
        async (story, sizes) => {
          const { records, repeated, keys, keptKeys } = tellAnswers(story)
          await given.empty()
          await given.foldRecords(records, { sizes: [1], userKeys: keys })
          const [all, folded] = [await readCollected(given.db()), await readFolded(given.db())]
          expect(await readUnequalSums(given.db())).toEqual([])
          await given.empty()
          await given.foldRecords(repeated, { sizes, userKeys: keys })
          expect(await readCollected(given.db())).toEqual(all)
          await given.empty()
          await given.foldRecords(repeated, { sizes, userKeys: keptKeys, mode: 'rebuild' })
          expect(await readFolded(given.db())).toEqual(folded)
        },
      ),
      { numRuns: 15 },
    )
  }, 120_000)
})
