import { comparedRows, createPartitionFold } from '@nextvisit/consumer'
import { answerGiven, eventTracked, identifyRequested, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import type { AnswerStatus } from '@nextvisit/contracts'
import { raw } from '@nextvisit/database'
import { queuedIdOf } from '@nextvisit/domain'
import type { FetchedRecord } from '@nextvisit/log'
import { batchesOf } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { at, contextOf, MINUTE, nps, SECOND } from '../test/evaluator-fixtures.ts'
import { givenEvaluator, type GivenEvaluator } from '../test/given-evaluator.ts'
import { formTriggerEvaluator } from './consumer.ts'
import { createQueueProjection } from './queue-projection.ts'

const context = contextOf([
  { ...nps, frequency: { repeat: 'always' }, expiresAfter: '10m' },
  { id: 'welcome', triggers: [{ visit: {} }], priority: 5 },
])
const withoutWelcome = contextOf([{ ...nps, frequency: { repeat: 'always' }, expiresAfter: '10m' }])

let live: GivenEvaluator
let rebuilt: GivenEvaluator

beforeAll(async () => {
  live = await givenEvaluator(inject('databaseUrl'))
  rebuilt = await givenEvaluator(inject('databaseUrl'))
})
afterAll(async () => {
  await live?.stop()
  await rebuilt?.stop()
})

/**
 * A form that is delivered, one that expires, one that is delivered when it had expired, some that are cancelled, one
 * that waits, one that is offered, one that is answered before it is delivered. Answers in parts, late ones, and of strangers.
 */
async function tellStory(): Promise<void> {
  const checkouts = [0, 20, 40, 60].map((minute) => eventTracked({ received: at(minute * MINUTE) }))
  const [first, , third] = checkouts as [(typeof checkouts)[0], unknown, (typeof checkouts)[0]]
  const answer = (cause: (typeof checkouts)[0], minute: number) => {
    const shown = visit({ received: at(minute * MINUTE) })
    const queuedId = queuedIdOf(cause.id, cause.received, 'nps')
    return [
      shown,
      visitAnswered({ visitId: shown.id, userId: shown.userId, received: shown.received, queuedId, formId: 'nps' }),
    ] as const
  }
  await live.fold(context, identifyRequested({ received: at(-MINUTE) }))
  await live.fold(context, first)
  const give = (cause: (typeof checkouts)[0], minute: number, status: AnswerStatus, userName = 'ada') => {
    const offerId = queuedIdOf(cause.id, cause.received, 'nps')
    return answerGiven({ userName, offerId, received: at(minute * MINUTE), status })
  }
  await live.fold(context, give(first, 1, 'partial'), ...answer(first, 1), give(first, 2, 'finished'))
  await live.fold(context, give(first, 3, 'dismissed'), give(first, 3, 'partial', 'eve'))
  for (const [index, minute] of [20, 40, 60].entries()) {
    const checkout = checkouts[index + 1]
    if (checkout) await live.fold(context, checkout)
    if (minute < 60) await live.tick(context, (minute + 11) * MINUTE)
  }
  await live.fold(context, give(third, 60, 'partial'))
  await live.fold(context, ...answer(third, 61))
  await live.fold(context, visit({ userName: 'bob', received: at(62 * MINUTE) }))
  await live.tick(withoutWelcome, 63 * MINUTE) // offers lapse,
  await live.tick(withoutWelcome, 63 * MINUTE) // and then they are cancelled
  await live.fold(withoutWelcome, eventTracked({ userName: 'eve', received: at(64 * MINUTE) }))
  const [sam, again] = [64, 66].map((minute) => eventTracked({ userName: 'sam', received: at(minute * MINUTE) }))
  if (sam && again) await live.fold(withoutWelcome, sam, give(sam, 65, 'finished', 'sam'), again)
  await live.fold(withoutWelcome, eventTracked({ userName: 'joe', received: at(64 * MINUTE) }))
  await live.fold(withoutWelcome, visit({ userName: 'joe', received: at(64 * MINUTE + SECOND) }))
}

/** As a replay compares them; the story's partition is not that of its users. */
async function readComparedRows({ prisma }: GivenEvaluator): Promise<unknown> {
  const source = formTriggerEvaluator.tables['queue']
  if (typeof source !== 'object') throw new TypeError('The queue is compared in part')
  const names = await prisma.$queryRaw<{ name: string }[]>(
    raw(`SELECT attname AS name FROM pg_attribute WHERE attrelid = 'queue'::regclass AND attnum > 0`),
  )
  const folded = comparedRows(
    'queue',
    names.map(({ name }) => name),
    source,
  )
  return {
    queue: await prisma.$queryRaw(
      raw(`SELECT to_jsonb(rows) - 'partition' AS row FROM (${folded}) AS rows ORDER BY user_id, id`),
    ),
    shown: await prisma.shownForm.findMany({ orderBy: [{ userId: 'asc' }, { formId: 'asc' }] }),
  }
}

describe('the queue rebuilt from form-events', () => {
  it('equals the live one except for open offers, with any repeated records and batch sizes', async () => {
    await tellStory()
    const states = await live.queue()
    expect(new Set(states.map((row) => row.split(' ')[1]))).toEqual(
      new Set(['delivered', 'expired', 'cancelled', 'waiting', 'offered', 'answered']),
    )
    const expected = await readComparedRows(live)
    const rows = await live.outbox()
    const told = rows.map(({ key, value, headers }) => ({ key: Buffer.from(key), value: Buffer.from(value), headers }))
    for (const size of [1, 3, 100]) {
      for (const again of [0, 1, 4, told.length]) {
        await rebuilt.prisma.$executeRaw(raw('TRUNCATE queue, shown_forms, checkpoints'))
        // A drain that did not hear that its records were published sends them again.
        const published = [...told.slice(0, again), ...told]
        const records = published.map((one, index) => ({
          ...one,
          topic: 'form-events',
          partition: 0,
          offset: BigInt(index),
          timestampMs: 0,
        })) satisfies FetchedRecord[]
        const fold = createPartitionFold({
          projection: createQueueProjection(12),
          db: rebuilt.db,
          topic: 'form-events',
          partition: 0,
          catalog: context.catalog,
          serviceVersion: 'test',
          mode: 'rebuild',
        })
        await fold.open()
        for (const batch of batchesOf(records, size)) await fold.fold(batch)
        expect(await readComparedRows(rebuilt)).toEqual(expected)
        expect(await rebuilt.outbox()).toEqual([])
      }
    }
  })
})
