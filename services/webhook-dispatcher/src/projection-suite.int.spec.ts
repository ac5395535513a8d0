import { randomUUID } from 'node:crypto'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { createPartitionFold, offlineParts } from '@nextvisit/consumer'
import { OrganizationConfig } from '@nextvisit/contracts'
import {
  answerGiven,
  formAnswered,
  formCancelled,
  formDelivered,
  formExpired,
  formQueued,
  segmentEntered,
  segmentLeft,
} from '@nextvisit/contracts/fixtures'
import { type Db, openCommitDb, sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'
import { batchOf, createTestDatabase, describeProjection, factsAsRecords } from '@nextvisit/testing'
import { expect, inject, it } from 'vitest'
import { webhookOf } from '../test/changing-catalog.ts'
import { webhookDispatcher } from './consumer.ts'
import { positions } from './tables.ts'

const addedAt = '2026-01-01T00:00:00.000Z'
const webhooks = [
  webhookOf({ id: 'crm', addedAt }),
  webhookOf({ id: 'queued', addedAt, events: ['form.queued'], include: ['traits'] }),
]
const config = OrganizationConfig.parse({
  id: 'acme',
  projects: [
    { id: 'shop', webhooks },
    { id: 'blog', webhooks: webhooks.slice(0, 1) },
  ],
})
const catalog = staticCatalog([config])
const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()]

const facts = [
  formQueued({ queuedId: first, id: randomUUID() }),
  formDelivered({ queuedId: first, id: randomUUID(), at: '2026-11-02T10:05:00.000Z' }),
  formAnswered(answerGiven({ offerId: first, status: 'partial', received: '2026-11-02T10:05:30.000Z' })),
  formQueued({ userName: 'bob', queuedId: second, id: randomUUID(), environment: 'T' }),
  formAnswered(answerGiven({ offerId: first, received: '2026-11-02T10:07:00.000Z' })),
  formAnswered(answerGiven({ offerId: first, status: 'dismissed' }), { outcome: 'late' }),
  formExpired({ userName: 'bob', queuedId: second, id: randomUUID() }),
  segmentEntered({ userName: 'bob' }),
  segmentLeft({ userName: 'bob' }),
  formAnswered(answerGiven({ userName: 'bob', offerId: second, status: 'dismissed', elements: {}, answers: {} })),
  formQueued({ queuedId: third, id: randomUUID(), project: 'blog', formId: 'stars' }),
  formCancelled({ queuedId: third, project: 'blog', formId: 'stars' }),
]

/** Makes the endpoints live, as ticks do, in each partition of the suite. */
async function makeLive(db: Db): Promise<void> {
  const rows = config.projects.flatMap(({ id: project, webhooks: own }) =>
    own.flatMap(({ id: endpointId }) =>
      [0, 1, 2, 3, 4].map((partition) => {
        const stream = { organization: 'acme', project, endpointId, replayId: LIVE_STREAM, partition }
        return { ...stream, addedAt, nextOffset: 0, isLive: true }
      }),
    ),
  )
  for (const statement of positions.insertMissing(rows)) await db.$executeRaw(statement)
}

async function readDeliveries(db: Db): Promise<unknown> {
  return {
    deliveries: await db.$queryRaw(sql`
      SELECT delivery_id, endpoint_id, partition, rank() OVER (PARTITION BY endpoint_id, user_id ORDER BY source_offset) AS place, cause_offset,
        webhook_id, type, at, body, capture, status
      FROM deliveries ORDER BY delivery_id`),
    turns: await db.$queryRaw(sql`
      SELECT project, endpoint_id, replay_id, user_id, partition FROM turns ORDER BY project, endpoint_id, user_id`),
  }
}

describeProjection(webhookDispatcher, {
  facts,
  catalog,
  prepare: makeLive,
  readRows: readDeliveries,
  // All rows are carried.
  readRebuiltRows: () => Promise.resolve('carried'),
  // The last erasure is reported.
  keptTables: ['deliveries', 'turns'],
})

it('writes no row in a rebuild, and deletes none', async () => {
  const database = await createTestDatabase(inject('databaseUrl'), webhookDispatcher)
  const db = openCommitDb({ url: database.url, schema: webhookDispatcher.schema, applicationName: 'spec' })
  try {
    await makeLive(db)
    const projection = webhookDispatcher.projection(offlineParts(() => Promise.resolve(1)))
    const place = { topic: 'form-events', partition: 0, catalog, serviceVersion: 'test', mode: 'rebuild' } as const
    const fold = createPartitionFold({ projection, db, ...place })
    await fold.open()
    const records = factsAsRecords(facts, { topic: 'form-events' })
    expect(await fold.fold(batchOf(records))).toMatchObject({ outcome: 'folded', records: facts.length })
    await fold.tick(new Date('2100-01-01T00:00:00.000Z'))
    expect(await readDeliveries(db)).toEqual({ deliveries: [], turns: [] })
    expect(await positions.select(db, sql`FROM positions WHERE NOT is_live`)).toEqual([])
  } finally {
    await db.$disconnect()
    await database.drop()
  }
})
