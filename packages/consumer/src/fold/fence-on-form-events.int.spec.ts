import { SealedFormFact } from '@nextvisit/contracts'
import {
  answerGiven,
  formAnswered,
  formQueued,
  queueErased,
  segmentEntered,
  userIdFixture,
} from '@nextvisit/contracts/fixtures'
import { type CommitDb, type Db, defineTable, sql } from '@nextvisit/database'
import { queueErasedIdOf, userErasedIdOf } from '@nextvisit/domain'
import type { FetchedRecord } from '@nextvisit/log'
import { batchesOf, factsAsRecords } from '@nextvisit/testing'
import { v7 as uuidV7 } from 'uuid'
import { describe, expect, it } from 'vitest'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { Projection } from '../core/projection.ts'
import { createPartitionFold } from '../partition/partition-fold.ts'
import { answerErasedUsers } from '../queries/answer-erased-users.ts'
import { type ErasedUser, erasedUserOf, eraseRows } from './erase-users.ts'

const visits = defineTable('visits', { userId: 'uuid', count: 'int', lastEvent: 'text' }, ['userId'], { count: 'add' })
const ERASURE = '0192aa00-0000-7000-8000-000000000001'
const ADA = { organization: 'acme', project: 'shop', userId: userIdFixture('ada') }
const erasure = queueErased({
  id: queueErasedIdOf(userErasedIdOf(ERASURE, ADA.userId)),
  erasureId: ERASURE,
  at: '2026-11-02T10:00:00.000Z',
  keysUntil: '2026-11-02T10:01:00.000Z',
  causeOffset: 5,
})
const sealedAt = (instant: string): SealedFormFact => {
  const { answers: _, ...clear } = formAnswered(answerGiven())
  return { ...clear, sealed: { key: uuidV7({ msecs: Date.parse(instant) }), bytes: '' } }
}

interface Draft {
  readonly added: { readonly userId: string; readonly count: number; readonly lastEvent: string }[]
  readonly erased: ErasedUser[]
}

/** Counts forms and answers of a user. It opens no answer. */
function createFormsProjection(folded: string[]): Projection<SealedFormFact, Draft> {
  const count = ({ added }: Draft, { fact }: { readonly fact: { readonly userId: string; readonly type: string } }) => {
    folded.push(fact.type)
    added.push({ userId: fact.userId, count: 1, lastEvent: fact.type })
  }
  return {
    name: 'forms',
    topic: 'form-events',
    schema: SealedFormFact,
    fence: 'QueueErased',
    idempotencyOf: (fact) => (fact.type === 'QueueErased' ? { id: fact.id, receivedMs: Infinity } : undefined),
    load: () => ({ added: [], erased: [] }),
    evolve: {
      FormQueued: count,
      FormAnswered: count,
      FormDelivered: 'ignored',
      FormExpired: 'ignored',
      FormCancelled: 'ignored',
      SegmentEntered: count,
      SegmentLeft: 'ignored',
      QueueErased: ({ erased }, record) => void erased.push(erasedUserOf(record)),
    },
    save: ({ added, erased }) => ({
      statements: [...visits.upsert(added), ...eraseRows('visits', erased, { columns: ['user_id'] })],
    }),
  }
}

/** Folds facts as a log from offset 0, and returns the types of those that reached the fold. */
async function foldAll(db: CommitDb, records: readonly FetchedRecord[], size: number): Promise<readonly string[]> {
  const folded: string[] = []
  const place = { topic: 'form-events', partition: 0, catalog: staticCatalog([]), serviceVersion: 'test' }
  const fold = createPartitionFold({ projection: createFormsProjection(folded), db, ...place })
  await fold.open()
  for (const batch of batchesOf(records, size)) {
    while (fold.checkpoint().nextOffset < batch.nextOffset) await fold.fold(batch)
  }
  return folded
}

const readCounts = (db: Db) => db.$queryRaw(sql`SELECT user_id AS "userId", count FROM visits ORDER BY user_id`)

function recordsOf(...facts: readonly SealedFormFact[]): FetchedRecord[] {
  return factsAsRecords(facts, { topic: 'form-events' })
}

describe('an erasure on form-events', () => {
  it.each([1, 2, 100])('lets the records before it count, and deletes the rows, in batches of %i', async (size) => {
    const { db } = await givenVisitsDatabase()
    const bob = formQueued({ userName: 'bob' })
    const folded = await foldAll(db, recordsOf(formQueued({ causeOffset: 4 }), bob, erasure, bob), size)
    expect(folded).toEqual(['FormQueued', 'FormQueued', 'FormQueued'])
    expect(await readCounts(db)).toEqual([{ userId: bob.userId, count: 2 }])
  })

  it('covers what an older cause has queued, and answers that an older key has sealed, when they come later', async () => {
    const { db } = await givenVisitsDatabase()
    const stale = [formQueued({ causeOffset: 4 }), sealedAt('2026-11-02T10:01:00.000Z')]
    const later = [formQueued({ causeOffset: 6 }), sealedAt('2026-11-02T10:01:00.001Z')]
    const folded = await foldAll(db, recordsOf(erasure, ...stale, ...later), 100)
    expect(folded).toEqual(['FormQueued', 'FormAnswered'])
  })

  it('covers changed memberships by their cause, in whichever order both publishers come', async () => {
    const { db } = await givenVisitsDatabase()
    const [before, after] = [segmentEntered({ causeOffset: 4 }), segmentEntered({ causeOffset: 6 })]
    const records = recordsOf(after, erasure, before, after)
    expect(await foldAll(db, records, 100)).toEqual(['SegmentEntered', 'SegmentEntered'])
  })

  it('counts once, whenever its second copy comes', async () => {
    const { db } = await givenVisitsDatabase()
    await foldAll(db, recordsOf(erasure, formQueued({ causeOffset: 6 }), erasure), 100)
    expect(await readCounts(db)).toEqual([{ userId: ADA.userId, count: 1 }])
  })

  it('is passed once its own record is folded, whatever the offset in user-events', async () => {
    const { db } = await givenVisitsDatabase()
    const { readErasedUsers } = answerErasedUsers({ name: 'forms', topic: 'form-events', fence: 'QueueErased' }, db)
    const ask = (erasureId: string) =>
      readErasedUsers({ users: [{ ...ADA, erasureId, offset: '999' }] }, undefined as never)
    const queued = formQueued({ causeOffset: 4 })
    await foldAll(db, recordsOf(queued), 1)
    expect(await ask(ERASURE)).toEqual({ users: [{ userId: ADA.userId, isPassed: false, rows: 0, fenceOffset: null }] })
    await foldAll(db, recordsOf(queued, erasure), 1)
    expect(await ask(ERASURE)).toEqual({ users: [{ userId: ADA.userId, isPassed: true, rows: 1, fenceOffset: null }] })
    expect(await ask('0192aa00-0000-7000-8000-000000000002')).toMatchObject({ users: [{ isPassed: false }] })
  })
})
