import { createPartitionFold, type FoldMode, type Projection, type UserKeys } from '@nextvisit/consumer'
import type { EvaluatorReply } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import { readPropertySettings } from '@nextvisit/testing'
import { type ErasureStep, erasureSteps, tellErasures } from '@nextvisit/testing/erasure-stories'
import * as fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { contextOf, GATEWAY, nps } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { createProjection } from './projection.ts'
import { createQueueProjection } from './queue-projection.ts'

const settings = readPropertySettings(20)
const { catalog } = contextOf([
  { ...nps, frequency: { repeat: 'always' } },
  {
    id: 'pros',
    triggers: [{ event: 'Checkout Completed', count: 2, within: '1h' }],
    audience: { trait: 'plan', is: 'pro' },
  },
  { id: 'large', triggers: [{ event: 'Checkout Completed', where: { property: 'total', atLeast: 3 } }] },
] as never)
const ADA = { userName: 'ada', isStale: false } as const

let given: GivenEvaluator
let replies: EvaluatorReply[] = []

beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterAll(() => given?.stop())
beforeEach(clear)

async function clear(): Promise<void> {
  await given.clear()
  await given.db.$executeRaw(sql`TRUNCATE checkpoints, erased_users, idempotent_records`)
  replies = []
}

interface Telling {
  readonly topic?: string
  /** Default: the evaluator's. */
  readonly projection?: unknown
  readonly keys?: UserKeys
  readonly mode?: FoldMode
  /** The sizes of the batches, in turn. */
  readonly sizes: readonly number[]
}

const evaluator = createProjection({
  publishReplies: async (sent) => void replies.push(...sent.map(({ reply }) => reply)),
})

/** Folds records of a log of `length` records. */
async function fold(
  records: readonly FetchedRecord[],
  length: number,
  { topic = 'user-events', projection = evaluator, keys, mode = 'live', sizes }: Telling,
): Promise<void> {
  const own = { topic, partition: 0, catalog, serviceVersion: 'test', mode, userKeys: keys }
  const partition = createPartitionFold({ projection: projection as Projection, db: given.db, ...own })
  const { nextOffset } = await partition.open()
  for (let [turn, from] = [0, Number(nextOffset)]; from < length; turn += 1) {
    const to = Math.min(length, from + (sizes[turn % sizes.length] ?? 1))
    const isWithin = ({ offset }: FetchedRecord): boolean => offset >= from && offset < to
    const place = { topic, partition: 0, highWatermark: BigInt(length), fetchedFrom: BigInt(from) }
    await partition.fold({ ...place, nextOffset: BigInt(to), records: records.filter(isWithin) })
    // An erasure cuts a batch, and the reader continues there.
    from = Number(partition.checkpoint().nextOffset)
  }
}

/** Reads what a replay compares. The partition of the queue is that of the key in a replay. */
const readRebuilt = async (db: Db) => ({
  users: await db.$queryRaw(sql`SELECT to_jsonb(users) AS row FROM users ORDER BY user_id`),
  events: await db.$queryRaw(sql`SELECT to_jsonb(own) AS row FROM event_occurrences AS own ORDER BY user_id, slug`),
  answers: await db.$queryRaw(sql`SELECT to_jsonb(own) AS row FROM form_answers AS own ORDER BY user_id, form_id`),
  queue: await db.$queryRaw(sql`
    SELECT to_jsonb(own) - 'partition' - 'offered_at' || jsonb_build_object('state', replace(state, 'offered', 'waiting')) AS row
    FROM queue AS own ORDER BY user_id, id`),
  shown: await db.$queryRaw(sql`SELECT to_jsonb(own) AS row FROM shown_forms AS own ORDER BY user_id, form_id`),
})

/** Reads all rows about users. */
const readRows = async (db: Db) => ({
  ...(await readRebuilt(db)),
  offered: await db.$queryRaw(sql`SELECT id, state, offered_at FROM queue ORDER BY id`),
  decisions: await db.$queryRaw(sql`SELECT to_jsonb(own) AS row FROM decisions AS own ORDER BY user_id, form_id`),
})

/** Returns the outbox as records of `form-events`. The last `repeated` ones, without their order in the log, come a second time. */
async function formEvents(repeated: readonly number[]): Promise<readonly FetchedRecord[]> {
  const told = await given.outbox()
  const again = repeated.flatMap((index) => told[index % Math.max(1, told.length)] ?? [])
  return [...told, ...again].map(({ key, value, headers }, index) => ({
    topic: 'form-events',
    partition: 0,
    offset: BigInt(index),
    timestampMs: 0,
    key: Buffer.from(key),
    value: Buffer.from(value),
    headers,
  }))
}

describe('erasures', () => {
  it(
    'leave the rows of the records after them, in any batches, and the same rows in a replay with repeated form-events',
    async () => {
      const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 })
      const repeated = fc.array(fc.nat(), { maxLength: 4 })
      await fc.assert(
        fc.asyncProperty(erasureSteps, sizes, repeated, fc.boolean(), async (steps, liveSizes, again, isQueueFirst) => {
          const { records, counting, keys, keptKeys } = tellErasures(steps, GATEWAY)
          const { length } = records
          await clear()
          await fold(counting, length, { keys, sizes: [1] })
          const expected = await readRows(given.db)
          await clear()
          await fold(records, length, { keys, sizes: liveSizes })
          expect(await readRows(given.db)).toEqual(expected)
          const live = await readRebuilt(given.db)
          const facts = await formEvents(again)
          await clear()
          const ofUsers = () => fold(records, length, { keys: keptKeys, mode: 'rebuild', sizes: [3] })
          const projection = createQueueProjection(12)
          const ofQueue = () =>
            fold(facts, facts.length, { topic: 'form-events', projection, mode: 'rebuild', sizes: liveSizes })
          for (const source of isQueueFirst ? [ofQueue, ofUsers] : [ofUsers, ofQueue]) await source()
          expect(await readRebuilt(given.db)).toEqual(live)
        }),
        { numRuns: settings.runs, ...settings.replay },
      )
    },
    settings.withinMs,
  )

  it('end the queue, tell the readers of form-events once, and let no late confirmation or answer bring a form back', async () => {
    const steps: ErasureStep[] = ['visit', 'event', 'visit', 'erasure', 'confirmation', 'answer', 'second copy'].map(
      (what) => ({
        ...ADA,
        what: what as ErasureStep['what'],
      }),
    )
    const { records, keys } = tellErasures(steps, GATEWAY)
    await fold(records.slice(0, 3), 3, { keys, sizes: [1] })
    expect(await given.queue()).toEqual(['nps offered'])
    await fold(records, records.length, { keys, sizes: [1] })
    expect(await given.queue()).toEqual([])
    const told = await given.outbox()
    expect(told.map(({ headers }) => headers['ce_type'])).toEqual(['FormQueued', 'QueueErased', 'FormAnswered'])
    const [, erased, late] = told.map(({ value }) => JSON.parse(value) as Readonly<Record<string, unknown>>)
    expect([erased?.['keysUntil'], late?.['outcome']]).toEqual([expect.stringMatching(/Z$/), 'unmatched'])
    // Profile, count, queued form, and the decision on each of three forms.
    expect(await given.db.$queryRaw(sql`SELECT rows::int >= 4 AS "hasRows" FROM erased_users`)).toEqual([
      { hasRows: true },
    ])
  })

  it('leave the outcome of an answer whose key was destroyed before it was folded, without the answers', async () => {
    const steps: ErasureStep[] = ['visit', 'event', 'answer', 'erasure'].map((what) => ({
      ...ADA,
      what: what as ErasureStep['what'],
    }))
    const { records, keptKeys } = tellErasures(steps, GATEWAY)
    await fold(records.slice(0, 3), 3, { keys: keptKeys, sizes: [1] })
    const told = (await given.outbox()).map(({ value }) => JSON.parse(value) as Readonly<Record<string, unknown>>)
    expect(told).toMatchObject([{ type: 'FormQueued' }, { type: 'FormAnswered', outcome: 'recorded', sealed: {} }])
    expect(await given.db.$queryRaw(sql`SELECT FROM form_answers`)).toEqual([])
  })

  it('let a gateway that waits for a record which they cover hear at once that there is no form', async () => {
    const steps: ErasureStep[] = [
      { ...ADA, what: 'erasure' },
      { ...ADA, what: 'visit', isStale: true },
      { ...ADA, what: 'visit' },
    ]
    const { records, keptKeys } = tellErasures(steps, GATEWAY)
    await fold(records, records.length, { keys: keptKeys, sizes: [3] })
    expect(replies.map(({ recordId }) => recordId)).toHaveLength(2)
    expect(replies).toMatchObject([
      { kind: 'visit', offer: null },
      { kind: 'visit', offer: null },
    ])
  })
})
