import { randomUUID } from 'node:crypto'
import { type AnsweredElements, type Answers, type FormFact, TOO_MANY_DAYS } from '@nextvisit/contracts'
import {
  answerGiven,
  formAnswered,
  formDelivered,
  formExpired,
  formQueued,
  queueErased,
} from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { countRowsRead } from '@nextvisit/testing'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { givenCollector, readResults } from '../test/given-collector.ts'
import { timeRowsOf } from './answer-times.ts'
import {
  isCounted,
  readFormAnswers,
  readFormDays,
  readFormFunnels,
  readFormResults,
  readOfferAnswers,
} from './queries.ts'
import { answerTimeDays, answerTimes, elementDays, funnelDays } from './tables.ts'

// Postgres counts the rows that a connection reads.
const given = givenCollector({ maxConnections: 1 })
const PROJECT = { organization: 'acme', project: 'shop' } as const
const FORM = { ...PROJECT, formId: 'nps', environment: 'P' } as const
const DELIVERED = '2026-11-02T10:00:00.000Z'
const after = (seconds: number, at = DELIVERED) => new Date(Date.parse(at) + seconds * 1_000).toISOString()

interface Offer {
  readonly userName?: string
  /** Time of the delivery. */
  readonly at?: string
  readonly formId?: string
  /** Seconds from the delivery to the answer. */
  readonly seconds?: number
  readonly answers?: Answers
  readonly elements?: AnsweredElements
  readonly language?: string
}

/** Returns the records of an offer that is finished. */
function finishedOffer({
  userName = 'ada',
  at = DELIVERED,
  formId = 'nps',
  seconds = 0,
  answers = { score: 9 },
  elements,
  language,
}: Offer): FormFact[] {
  const queuedId = randomUUID()
  const of = { userName, queuedId, formId }
  return [
    formQueued({ ...of, at }),
    formDelivered({ ...of, at, ...(language && { language }) }),
    formAnswered(
      answerGiven({
        userName,
        formId,
        offerId: queuedId,
        received: after(seconds, at),
        answers,
        elements: elements ?? { score: 'nps' },
        ...(language && { language }),
      }),
    ),
  ]
}

const resultsOf = (query: object) => readResults(given.db(), { ...FORM, ...query })

describe('the results of a form', () => {
  it('contain the exact median of the seconds to answer, in any order, also of some days', async () => {
    const someSeconds = fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 1_000_000 }))
    const seconds = fc.array(someSeconds, { minLength: 1, maxLength: 9 })
    await fc.assert(
      fc.asyncProperty(seconds, async (all) => {
        await given.empty()
        await given.fold(all.flatMap((one) => finishedOffer({ seconds: one })))
        const sorted = all.toSorted((one, other) => one - other)
        const middle = [sorted[Math.floor((all.length - 1) / 2)] ?? 0, sorted[Math.ceil((all.length - 1) / 2)] ?? 0]
        const { medianSecondsToAnswer } = await resultsOf({})
        expect(medianSecondsToAnswer).toBe((Number(middle[0]) + Number(middle[1])) / 2)
        // An answer on another day, so that the range lacks a counted one.
        await given.fold(finishedOffer({ at: '2026-10-01T10:00:00.000Z' }))
        const ofDays = await resultsOf({ from: '2026-11-02', to: '2026-12-01' })
        expect(ofDays.medianSecondsToAnswer).toBe(medianSecondsToAnswer)
      }),
      { numRuns: 8 },
    )
  })

  it('contain counts, averages, distributions and the NPS, before and after an erasure', async () => {
    const scores = [10, 9, 8, 6, 0]
    const facts = scores.flatMap((score, nth) =>
      finishedOffer({
        userName: `user-${nth}`,
        answers: { score, stars: 4, contact: nth > 0 },
        elements: { score: 'nps', stars: 'rating', contact: 'consent' },
      }),
    )
    await given.fold([
      ...facts,
      formQueued({ userName: 'bob' }),
      formDelivered({ userName: 'bob' }),
      formExpired({ userName: 'bob' }),
    ])
    const results = await resultsOf({})
    expect(results).toEqual({
      funnel: { queued: 6, delivered: 6, started: 5, finished: 5, dismissed: 0, expired: 1 },
      responseRate: 5 / 6,
      medianSecondsToAnswer: 0,
      unmatched: 0,
      elements: [
        {
          id: 'contact',
          type: 'consent',
          count: 5,
          distribution: [
            { value: true, count: 4 },
            { value: false, count: 1 },
          ],
        },
        {
          id: 'score',
          type: 'nps',
          count: 5,
          average: 6.6,
          nps: 0,
          promoters: 2,
          passives: 1,
          detractors: 2,
          distribution: [0, 6, 8, 9, 10].map((value) => ({ value, count: 1 })),
        },
        { id: 'stars', type: 'rating', count: 5, average: 4, distribution: [{ value: 4, count: 5 }] },
      ],
    })
    await given.empty()
    await given.fold([...facts, queueErased({ userName: 'user-0' })])
    expect((await resultsOf({})).elements).toEqual(results.elements)
  })

  it('are those of the asked days, environment and language', async () => {
    await given.fold([
      ...finishedOffer({ language: 'en', seconds: 20 * 3_600 }),
      ...finishedOffer({ language: 'de', answers: { score: 0 } }),
    ])
    expect((await resultsOf({ language: 'de' })).elements).toMatchObject([{ count: 1, average: 0 }])
    expect((await resultsOf({ language: 'de' })).funnel).toEqual({
      delivered: 1,
      started: 1,
      finished: 1,
      dismissed: 0,
    })
    const [first, second] = ['2026-11-02', '2026-11-03', '2026-11-04'].map((from, nth, all) => {
      return { from, to: all[nth + 1] ?? '' }
    })
    expect((await resultsOf({ ...first })).funnel).toMatchObject({ queued: 2, delivered: 2, finished: 1 })
    expect((await resultsOf({ ...second })).funnel).toMatchObject({ queued: 0, delivered: 0, finished: 1 })
    expect((await resultsOf({ ...second })).responseRate).toBeNull()
    expect((await resultsOf({ ...first })).medianSecondsToAnswer).toBe(0)
    expect((await resultsOf({ ...second })).medianSecondsToAnswer).toBe(20 * 3_600)
    expect((await resultsOf({ language: 'de' })).medianSecondsToAnswer).toBe(0)
    expect((await resultsOf({ environment: 'T' })).funnel).toMatchObject({ queued: 0, finished: 0 })
    const days = await readFormDays(given.db(), { ...FORM, days: { from: '2026-11-01', to: '2026-12-01' } })
    expect(days).toMatchObject([
      { day: '2026-11-02', scores: [{ id: 'score', count: 1, average: 0, nps: -100 }] },
      { day: '2026-11-03', funnel: { finished: 1 }, scores: [{ average: 9, nps: 100 }] },
    ])
  })

  it('are of any range that lacks no counted day, and otherwise of at most 400 days', async () => {
    const days = ['2025-01-01', '2025-06-01', '2026-02-06']
    await given.fold(days.flatMap((day) => finishedOffer({ at: `${day}T10:00:00.000Z` })))
    const finished = async (query: object) => {
      const results = await readFormResults(given.db(), { ...FORM, ...query })
      return results === TOO_MANY_DAYS ? results : results.funnel.finished
    }
    expect(await finished({ from: '0001-01-01', to: '9999-12-31' })).toBe(3)
    expect(await finished({ from: '2025-01-01' })).toBe(3)
    expect(await finished({ to: '2026-02-07' })).toBe(3)
    expect(await finished({ from: '2025-01-02' })).toBe(TOO_MANY_DAYS)
    expect(await finished({ from: '2025-01-03' })).toBe(2)
    expect(await finished({ to: '2026-02-06' })).toBe(TOO_MANY_DAYS)
    expect(await finished({ to: '2025-06-02' })).toBe(2)
    expect(await finished({ from: '2026-02-06', language: 'de' })).toBe(0)
    expect(await finished({ from: '2030-01-01' })).toBe(0)
    expect(await finished({ from: '2026-02-06', environment: 'T' })).toBe(0)
    expect(await finished({ to: '2020-01-01' })).toBe(0)
  })
})

describe('the results of some days', () => {
  it('lack a later day that is first counted while they are read, as at midnight', async () => {
    const today = finishedOffer({ at: DELIVERED })
    const tomorrow = finishedOffer({ at: '2026-11-03T00:00:00.000Z' })
    await given.fold(today)
    const db = given.db()
    let reads = 0
    const atMidnight: Db = {
      $executeRaw: (statement) => db.$executeRaw(statement),
      $disconnect: () => db.$disconnect(),
      $queryRaw: async (statement) => {
        reads += 1
        if (reads === 2) await given.fold([...today, ...tomorrow])
        return db.$queryRaw(statement)
      },
    }
    const results = await readFormResults(atMidnight, { ...FORM, to: '2026-11-03' })
    expect(results).toMatchObject({ funnel: { queued: 1, finished: 1 }, elements: [{ count: 1 }] })
    expect((await resultsOf({})).funnel).toMatchObject({ queued: 2, finished: 2 })
  })

  it('lack the answers of an offer that was begun before with a key of the other environment', async () => {
    const offer = { queuedId: randomUUID(), at: DELIVERED }
    const answer = (special: object) => answerGiven({ offerId: offer.queuedId, elements: { score: 'nps' }, ...special })
    await given.fold([
      formQueued(offer),
      formAnswered(answer({ received: DELIVERED, status: 'partial', answers: { score: 3 } })),
      formAnswered(answer({ received: after(48 * 3_600), environment: 'T', answers: { score: 9 } })),
    ])
    expect((await resultsOf({ environment: 'T' })).elements).toMatchObject([{ id: 'score', average: 9 }])
    const later = await resultsOf({ environment: 'T', from: '2026-11-04' })
    expect([later.funnel.finished, later.elements]).toEqual([1, []])
  })
})

describe('the days of a form', () => {
  it('have each score of 400 days, of several elements with every value', async () => {
    const scale = Array.from({ length: 11 }, (_, score) => String(score))
    const elements = ['a', 'b', 'c', 'd', 'e']
    const first = Date.UTC(2025, 9, 24)
    const days = Array.from({ length: 400 }, (_, nth) => new Date(first + nth * 86_400_000).toISOString().slice(0, 10))
    const rows = days.flatMap((day) =>
      elements.flatMap((element) =>
        ['', ...scale].map((value) => {
          const count = value === '' ? scale.length : 1
          return { ...FORM, language: 'en', partition: 0, day, element, type: 'nps', value, count }
        }),
      ),
    )
    for (const statement of elementDays.upsert(rows)) await given.db().$executeRaw(statement)
    const range = { from: days[0] ?? '', to: '2026-11-28' }
    const read = await readFormDays(given.db(), { ...FORM, days: range })
    const score = { type: 'nps', count: 11, average: 5, nps: ((2 - 7) / 11) * 100 }
    const scores = elements.map((id) => ({ id, ...score }))
    expect(read.map((one) => one.scores)).toEqual(days.map(() => scores))
  })
})

describe('a result reads a bounded number of rows', () => {
  const TIMES = 8_000
  const DAYS = 4
  /** Distinct times to answer, on some days. */
  async function givenTimes(): Promise<void> {
    const ofForm = { ...FORM, language: 'en', partition: 0 }
    const rows = Array.from({ length: TIMES }, (_, nth) => ({
      ...ofForm,
      day: new Date(Date.UTC(2026, 0, 1 + (nth % DAYS))).toISOString().slice(0, 10),
      seconds: nth,
    })).flatMap(timeRowsOf)
    const steps = rows.slice(0, DAYS * 4).map(({ day }) => ({ ...ofForm, day, step: 'finished', count: 1 }))
    for (const statement of [...answerTimes.upsert(rows), ...answerTimeDays.upsert(rows), ...funnelDays.upsert(steps)])
      await given.db().$executeRaw(statement)
    await given.db().$executeRaw(sql`ANALYZE answer_times, answer_time_days`)
  }
  const TABLES = ['funnels', 'funnel_days', 'elements', 'element_days', 'answer_times', 'answer_time_days']
  const rowsRead = (query: object) =>
    countRowsRead(given.db(), TABLES, () => readFormResults(given.db(), { ...FORM, ...query }))

  it('of the whole time, which does not grow with its days', async () => {
    const days = Array.from({ length: 60 }, (_, day) =>
      finishedOffer({
        userName: `user-${day}`,
        language: 'en',
        at: new Date(Date.UTC(2026, 0, 1 + day)).toISOString(),
      }),
    )
    await given.fold(days.slice(0, 2).flat())
    const before = [await rowsRead({}), await rowsRead({ from: '2026-01-01' })]
    await given.fold(days.flat())
    expect((await resultsOf({})).funnel.finished).toBe(60)
    // Postgres may count a few dead versions of rows.
    expect(await rowsRead({})).toBeLessThan((before[0] ?? 0) + 20)
    expect(await rowsRead({ from: '2026-01-01' })).toBeLessThan((before[1] ?? 0) + 20)
  })

  it('of times to answer: only spans that contain the median', async () => {
    await givenTimes()
    expect((await resultsOf({})).medianSecondsToAnswer).toBe((TIMES - 1) / 2)
    expect(await rowsRead({})).toBeLessThan(1_000)
    const days = { from: '2026-01-02', to: '2026-01-04' }
    const ofDays = Array.from({ length: TIMES }, (_, nth) => nth).filter((nth) => [1, 2].includes(nth % DAYS))
    const median = (Number(ofDays[ofDays.length / 2 - 1]) + Number(ofDays[ofDays.length / 2])) / 2
    expect((await resultsOf(days)).medianSecondsToAnswer).toBe(median)
    expect(await rowsRead(days)).toBeLessThan(1_000)
  })
})

describe('the answers of a form', () => {
  it('are listed newest first, and later answers do not move the following pages', async () => {
    const older = Array.from({ length: 5 }, (_, nth) => finishedOffer({ userName: `user-${nth}`, seconds: nth }))
    await given.fold(older.flat())
    const read = (next?: string) => readFormAnswers(given.db(), { ...FORM, limit: 2, ...(next && { after: next }) })
    const first = await read()
    await given.fold([...older.flat(), ...finishedOffer({ userName: 'new', seconds: 100 })])
    const second = await read(first.next ?? '')
    const third = await read(second.next ?? '')
    const startedAt = [first, second, third].flatMap(({ answers }) => answers.map((one) => one.startedAt))
    expect(startedAt).toEqual([4, 3, 2, 1, 0].map((seconds) => after(seconds)))
    expect(third.next).toBeNull()
    expect((await read()).answers[0]).toMatchObject({
      startedAt: after(100),
      status: 'finished',
      answers: { score: 9 },
    })
  })

  it('end a page after some megabytes, and miss none', async () => {
    const reason = 'x'.repeat(250_000)
    const long = Array.from({ length: 40 }, (_, nth) =>
      finishedOffer({ seconds: nth, answers: { reason }, elements: { reason: 'text' } }),
    )
    await given.fold(long.flat(), { sizes: [3] })
    const sizes: number[] = []
    for (let next: string | null | undefined; next !== null; ) {
      const page = await readFormAnswers(given.db(), { ...FORM, limit: 1_000, ...(next && { after: next }) })
      sizes.push(page.answers.length)
      next = page.next
    }
    expect(sizes).toEqual([17, 17, 6])
  })

  it('are read by offer once it is finished', async () => {
    const queuedId = randomUUID()
    const of = { userName: 'steps', formId: 'nps', queuedId }
    const answerOf = (status: 'partial' | 'finished', answers: Answers, elements: AnsweredElements) =>
      formAnswered(answerGiven({ userName: 'steps', id: randomUUID(), offerId: queuedId, status, answers, elements }))
    const queued = formQueued(of)
    const offer = { ...PROJECT, userId: queued.userId, offerId: queuedId }
    const begun = [queued, formDelivered(of), answerOf('partial', { score: 9 }, { score: 'nps' })]
    await given.fold(begun)
    expect(await readOfferAnswers(given.db(), offer)).toBeUndefined()
    await given.fold([...begun, answerOf('finished', { score: 8, why: 'fast' }, { score: 'nps', why: 'text' })])
    expect(await readOfferAnswers(given.db(), offer)).toEqual({ answers: { score: 8, why: 'fast' } })
    expect(await readOfferAnswers(given.db(), { ...offer, project: 'other' })).toBeUndefined()
  })
})

describe('the funnels of forms', () => {
  it('come in pages by form id, with 0 for forms of the other environment', async () => {
    await given.fold([
      ...finishedOffer({ formId: 'a' }),
      ...finishedOffer({ formId: 'b' }),
      formQueued({ formId: 'c', queuedId: randomUUID(), environment: 'T' }),
    ])
    const read = (query: object) => readFormFunnels(given.db(), { ...PROJECT, environment: 'P', limit: 2, ...query })
    expect(await read({})).toMatchObject({ forms: [{ formId: 'a', responseRate: 1 }, { formId: 'b' }], next: 'b' })
    expect(await read({ after: 'b' })).toMatchObject({ forms: [{ formId: 'c', funnel: { queued: 0 } }], next: null })
    expect((await read({ formIds: ['b', 'x'] })).forms.map(({ formId }) => formId)).toEqual(['b'])
    expect(await isCounted(given.db(), { ...PROJECT, formId: 'c' })).toBe(true)
    expect(await isCounted(given.db(), { ...PROJECT, formId: 'x' })).toBe(false)
  })
})
