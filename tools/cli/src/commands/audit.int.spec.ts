import { audit, type AuditReport, type ReadModel } from '@nextvisit/audit'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { createUserKeys, offlineParts } from '@nextvisit/consumer'
import { startRunner } from '@nextvisit/consumer/test/given-runner.ts'
import { encodeRecord, ERASURE_STORES, OrganizationConfig } from '@nextvisit/contracts'
import {
  answerGiven,
  eventTracked,
  formAnswered,
  formDelivered,
  formQueued,
  identifyRequested,
  segmentEntered,
} from '@nextvisit/contracts/fixtures'
import { raw, sql } from '@nextvisit/database'
import { userIdOf } from '@nextvisit/domain'
import { type LogConnection, readLog, readWatermarks } from '@nextvisit/log'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { consumers } from '@nextvisit/services'
import { createTestTopic } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { givenReplay, onTopic } from '../../test/given-replay.ts'
import { givenSealedLog, SECRET_ENV } from '../../test/given-sealed-log.ts'

const { NEXTVISIT_SECRET_KEY: secretKey } = SECRET_ENV
const userOf = (userName: string) => ({ userName, userId: userIdOf('acme', 'shop', userName) })
const identify = (userName: string) =>
  identifyRequested({ ...userOf(userName), operations: { set: { plan: `${userName}-plan` } } })
const event = (userName: string) => eventTracked({ ...userOf(userName), properties: { coupon: userName } })

const EVERY_SERVICE: readonly ReadModel['service'][] = [
  'user-projector',
  'trait-registry',
  'metering',
  'form-trigger-evaluator',
  'answer-collector',
  'webhook-dispatcher',
  'user-eraser',
]
/** The topics of the consumers that do not fold `user-events`. */
const TOPIC_OF = new Map<string, 'formEvents' | 'erasures'>([
  ['answer-collector', 'formEvents'],
  ['webhook-dispatcher', 'formEvents'],
  ['user-eraser', 'erasures'],
])

const LONG_AGO = '2020-01-01T00:00:00.000Z'

/** Creates a log and the read models of these consumers, and functions that fold the log and audit them. */
async function givenProduct(services = EVERY_SERVICE, configs: readonly OrganizationConfig[] = []) {
  const log = await givenSealedLog()
  const { connection, topics } = log
  const { topic: catalog } = await createTestTopic(inject('kafkaBrokers'))
  for (const [index, config] of configs.entries()) {
    const applied = { organization: config.id, revision: 1, config, appliedAt: LONG_AGO, appliedBy: 'spec' }
    const fact = { type: 'OrganizationConfigured', id: `00000000-0000-4000-8000-00000000000${index}`, ...applied }
    await log.publish(catalog, { key: config.id, ...encodeRecord(fact, { source: 'spec', time: LONG_AGO }) })
  }
  const models = await Promise.all(
    consumers
      .filter(({ name }) => services.some((service) => service === name))
      .map(async (described) => {
        const { name: service, schema } = described
        const consumer = onTopic(described, topics[TOPIC_OF.get(service) ?? 'userEvents'])
        const { db, url } = await givenReplay(consumer, { connection })
        const readModel: ReadModel = { service, schema, url }
        return { consumer, db, readModel }
      }),
  )
  const dbOf = (service: string) => {
    const found = models.find(({ consumer }) => consumer.name === service)
    if (!found) throw new Error(`There is no ${service}`)
    return found.db
  }

  const report = (): Promise<AuditReport> => {
    const readModels = models.map(({ readModel }) => readModel)
    return audit({ connection, topics: { ...topics, catalog }, readModels, secretKey })
  }

  const lags = async () => (await report()).lag.map(({ records }) => records)

  /** Folds the log to its present end, with processes that then stop. `until`: resolves once they may. */
  async function fold(until?: () => Promise<unknown>): Promise<void> {
    const running = await Promise.all(
      models.map(async ({ consumer, db }) => {
        const projection = consumer.projection(offlineParts(() => Promise.resolve(1)))
        const userKeys = createUserKeys({
          ring: givenKeyRing(secretKey),
          projection: projection.name,
          topic: topics.userKeys,
          connection,
          readMarks: (topic) => readWatermarks(connection, topic),
        })
        onTestFinished(userKeys.stop)
        return {
          ...(await startRunner(projection, connection, db, { userKeys, catalog: staticCatalog(configs) })),
          userKeys,
        }
      }),
    )
    // An audit, which reports the lag, costs much more than this.
    const areCaughtUp = () => running.every(({ runner }) => isCaughtUp(runner.progress()))
    await expect.poll(areCaughtUp, { timeout: 60_000 }).toBe(true)
    await expect.poll(lags, { timeout: 60_000, interval: 500 }).toEqual(models.map(() => 0))
    await until?.()
    for (const { runner, onFailure, userKeys } of running) {
      await runner.stop()
      userKeys.stop()
      expect(onFailure).not.toHaveBeenCalled()
    }
  }

  const kinds = async () => (await report()).findings.map(({ kind }) => kind)
  return { ...log, fold, report, kinds, dbOf }
}

function isCaughtUp(partitions: readonly { readonly lagRecords: bigint }[]): boolean {
  return partitions.length > 0 && partitions.every(({ lagRecords }) => lagRecords === 0n)
}

it('the audit finds no difference before, during and after an erasure, but a profile that returns', {
  timeout: 240_000,
}, async () => {
  const { record, publish, publishKey, erase, fold, report, kinds, dbOf, topics } = await givenProduct()
  for (const name of ['ada', 'bob']) for (const fact of [identify(name), event(name)]) await record(fact)
  const { userId } = userOf('ada')
  await publish(topics.userEvents, { key: userId, value: 'poison' })
  await fold()
  expect(await kinds()).toEqual([])

  const profile = sql`SELECT to_jsonb(users)::text AS row FROM users WHERE user_id = ${userId}::uuid`
  const [before] = await dbOf('user-projector').$queryRaw<{ row: string }[]>(profile)
  const destroyed = await erase(identify('ada'))
  const behind = await report()
  expect(behind.findings).toEqual([])
  expect(behind.lag.map(({ records }) => records)).toEqual([1, 1, 1, 1, 1, 1, 1])

  await fold()
  expect(await kinds()).toEqual([])
  await publishKey(destroyed)
  await fold()
  expect(await kinds()).toEqual([])
  expect(await dbOf('user-projector').$queryRaw(profile)).toEqual([])

  await dbOf('user-projector').$executeRaw(sql`
    INSERT INTO users SELECT * FROM jsonb_populate_record(NULL::users, ${before?.row}::jsonb)`)
  expect(await kinds()).toEqual(['users.users: not in the log'])
  await dbOf('user-projector').$executeRaw(sql`DELETE FROM users WHERE user_id = ${userId}::uuid`)

  await record(identify('ada'))
  await fold()
  expect(await kinds()).toEqual([])
})

const TAMPERED_ANSWERS = [
  ['offers: status', `UPDATE offers SET status = 'dismissed'`],
  ['offers: answers', `UPDATE offers SET answers = '{"score":1}'`],
  ['funnels: count', `UPDATE funnels SET count = count + 1 WHERE step = 'queued'`],
  ['funnel_days: count', `UPDATE funnel_days SET count = count + 1 WHERE step = 'queued'`],
  ['answer_times: count', 'UPDATE answer_times SET count = count + 1'],
  ['answer_time_days: count', 'UPDATE answer_time_days SET count = count + 1'],
  ['elements: count', `UPDATE elements SET count = count + 1 WHERE value = ''`],
  ['element_days: count', `UPDATE element_days SET count = count + 1 WHERE value = ''`],
  ['erased_elements: answers', `UPDATE erased_elements SET count = count + 1 WHERE value = ''`],
  ['erased_element_days: answers', `UPDATE erased_element_days SET count = count + 1 WHERE value = ''`],
] as const

it('the audit recomputes answers and results, and finds each changed table', { timeout: 240_000 }, async () => {
  const { record, erase, fold, report, kinds, dbOf, topics } = await givenProduct(['answer-collector'])
  for (const name of ['ada', 'bob']) {
    const user = userOf(name)
    const answers = { score: name === 'ada' ? 9 : 4 }
    const answered = answerGiven({ ...user, answers, elements: { score: 'nps' }, language: 'de' })
    for (const fact of [formQueued(user), formDelivered(user), formAnswered(answered)])
      await record(fact, topics.formEvents)
  }
  await fold()
  expect(await kinds()).toEqual([])

  await erase(formQueued(userOf('bob')))
  const behind = await report()
  expect(behind.findings).toEqual([])
  expect(behind.lag).toEqual([{ service: 'answer-collector', records: 1 }])
  await fold()
  expect(await kinds()).toEqual([])

  for (const [, tamper] of TAMPERED_ANSWERS) await dbOf('answer-collector').$executeRaw(raw(tamper))
  expect(await kinds()).toEqual(TAMPERED_ANSWERS.map(([kind]) => `answers.${kind}`))
})

const ADA = userOf('ada').userId
const TAMPERED_DELIVERIES = [
  ['deliveries: missing', `DELETE FROM deliveries WHERE type = 'form.delivered' AND user_id = '${ADA}'`],
  [
    'deliveries: at',
    `UPDATE deliveries SET at = at + interval '1 hour' WHERE type = 'form.answered' AND user_id = '${ADA}'`,
  ],
  [
    'deliveries: causeOffset',
    `UPDATE deliveries SET cause_offset = 7 WHERE type = 'user.entered_segment' AND user_id = '${ADA}'`,
  ],
  ['deliveries: body', `UPDATE deliveries SET body = '{}' WHERE type = 'form.queued' AND user_id = '${ADA}'`],
  ['deliveries: not in the log', `UPDATE deliveries SET webhook_id = gen_random_uuid() WHERE type = 'user.erased'`],
  ['turns: missing', 'DELETE FROM turns'],
] as const

it('the audit compares deliveries of webhooks with the log, and finds each that differs', {
  timeout: 240_000,
}, async () => {
  const webhook = { id: 'crm', url: 'https://crm.example', secret: 'sealed', addedAt: LONG_AGO }
  const queuedOnly = { ...webhook, id: 'queued', events: ['form.queued'] as const }
  const config = OrganizationConfig.parse({
    id: 'acme',
    projects: [{ id: 'shop', webhooks: [webhook, { ...queuedOnly, events: [...queuedOnly.events] }] }],
  })
  const { record, erase, fold, report, kinds, dbOf, topics } = await givenProduct(['webhook-dispatcher'], [config])
  for (const name of ['ada', 'bob']) {
    const user = userOf(name)
    const facts = [formQueued({ ...user, causeOffset: 1 }), formDelivered(user), formAnswered(answerGiven(user))]
    for (const fact of [...facts, segmentEntered({ ...user, causeOffset: 1 })]) await record(fact, topics.formEvents)
  }
  const db = dbOf('webhook-dispatcher')
  const live = () => db.$queryRaw(sql`SELECT count(*)::int AS live FROM positions WHERE is_live`)
  const untilLive = () => expect.poll(live, { timeout: 20_000 }).toEqual([{ live: 6 }])
  await fold(untilLive)
  expect(await kinds()).toEqual([])
  expect(await db.$queryRaw(sql`SELECT count(*)::int AS count FROM deliveries`)).toEqual([{ count: 10 }])

  const kept = sql`SELECT to_jsonb(deliveries)::text AS row FROM deliveries WHERE user_id = ${userOf('bob').userId}::uuid LIMIT 1`
  const [before] = await db.$queryRaw<{ row: string }[]>(kept)
  await erase(formQueued(userOf('bob')), { causeOffset: 5 })
  expect((await report()).findings).toEqual([])
  await fold()
  expect(await kinds()).toEqual([])
  await db.$executeRaw(sql`
    INSERT INTO deliveries SELECT * FROM jsonb_populate_record(NULL::deliveries, ${before?.row}::jsonb)`)
  expect(await kinds()).toEqual(['webhooks.deliveries: not erased'])
  await db.$executeRaw(sql`DELETE FROM deliveries WHERE delivery_id = (${before?.row}::jsonb ->> 'delivery_id')::uuid`)

  for (const [, tamper] of TAMPERED_DELIVERIES) await db.$executeRaw(raw(tamper))
  expect(new Set(await kinds())).toEqual(new Set(TAMPERED_DELIVERIES.map(([kind]) => `webhooks.${kind}`)))
})

const NO_STORE = `erasures.erasure_stores: unfinished`
const TAMPERED_ERASURES = [
  ['erasures.erasures: missing', 'DELETE FROM erasures'],
  ['erasures.erasures: requestedAt', `UPDATE erasures SET requested_at = requested_at - interval '1 s'`],
  ['erasures.erasures: completedAt', 'UPDATE erasures SET completed_at = NULL'],
  ['erasures.erasures: receiptSha256', `UPDATE erasures SET receipt = receipt || ' '`],
  ['erasures.erasure_users: keysUntil', `UPDATE erasure_users SET keys_until = keys_until + interval '1 s'`],
  ['erasures.erasure_users: missing', 'DELETE FROM erasure_users'],
  [NO_STORE, `UPDATE erasure_stores SET finished_at = NULL WHERE store = 'redis'`],
  [NO_STORE, `DELETE FROM erasure_stores WHERE store = 'user-keys'`],
  ['erasures.erasure_facts: offset', 'UPDATE erasure_facts SET "offset" = "offset" - 1'],
  ['erasures.erasure_facts: not in the log', 'UPDATE erasure_facts SET user_id = gen_random_uuid()'],
  [
    'erasures.erased_keys: not in the log',
    `INSERT INTO erased_keys SELECT user_id, 'ffffffff-ffff-7fff-8000-000000000000', 0, '' FROM erasure_users`,
  ],
  [
    'erasures.user_keys: not in the log',
    `INSERT INTO user_keys (user_id, key_id, wrapped, partition) SELECT user_id, gen_random_uuid(), '', 0 FROM erasure_users`,
  ],
] as const

/** Reads the place of the last erasure of a user. */
async function placeOfFence(connection: LogConnection, topic: string, userId: string) {
  let place = { partition: -1, offset: '' }
  await readLog(connection, {
    topic,
    from: new Map([...(await readWatermarks(connection, topic)).keys()].map((partition) => [partition, 0n])),
    until: 'end',
    onBatch: ({ partition, records }) => {
      for (const { key, value, offset } of records)
        if (String(key) === userId && String(value).includes('"UserErased"'))
          place = { partition, offset: String(offset) }
    },
  })
  return place
}

it('the audit recomputes erasures, and finds each changed row of the user eraser', { timeout: 240_000 }, async () => {
  const product = await givenProduct(['user-eraser'])
  const { connection, record, publish, erase, fold, report, kinds, dbOf, topics } = product
  const { organization, project, userId } = identify('ada')
  await record(identify('ada'))
  const { keyId } = await erase({ organization, project, userId })
  expect(await report()).toMatchObject({ findings: [], lag: [{ service: 'user-eraser', records: 1 }] })
  await fold()
  expect(await kinds()).toEqual([])

  const db = dbOf('user-eraser')
  const readRunning = async () => {
    const rows = await db.$queryRaw<{ id: string }[]>(
      sql`SELECT erasure_id AS id FROM erasures WHERE completed_at IS NULL`,
    )
    return rows[0]?.id ?? ''
  }
  const complete = async (users: readonly object[], stores: readonly string[] = ERASURE_STORES) => {
    const erasureId = await readRunning()
    const receipt = JSON.stringify({ erasureId, stores: stores.map((store) => ({ store })), users })
    const at = new Date().toISOString()
    const fact = { type: 'ErasureCompleted', id: erasureId, organization, project, erasureId, at, receipt }
    await publish(topics.erasures, { key: erasureId, ...encodeRecord(fact, { source: 'spec', time: at }) })
    await fold()
  }
  const erasureId = await readRunning()
  const place = await placeOfFence(connection, topics.userEvents, userId)
  await complete([{ userId, ...place }])
  await db.$executeRaw(sql`INSERT INTO erasure_facts VALUES (
    ${erasureId}::uuid, ${userId}::uuid, ${place.partition}::int, ${place.offset}::bigint)`)
  await db.$executeRaw(sql`INSERT INTO erased_keys VALUES (${userId}::uuid, ${keyId}::uuid, 0, '')`)
  expect(new Set(await kinds())).toEqual(new Set([NO_STORE]))
  await db.$executeRaw(sql`
    INSERT INTO erasure_stores SELECT ${erasureId}::uuid, store, 0, now() FROM unnest(${[...ERASURE_STORES]}::text[]) AS store`)
  expect(await kinds()).toEqual([])

  const tables = ['erasures', 'erasure_users', 'erasure_facts', 'erasure_stores', 'erased_keys']
  const kept = new Map<string, string>()
  for (const table of tables) {
    const [all] = await db.$queryRaw<{ rows: string }[]>(
      sql`SELECT jsonb_agg(to_jsonb(own))::text AS rows FROM ${raw(table)} AS own`,
    )
    kept.set(table, all?.rows ?? '[]')
  }
  for (const [kind, tamper] of TAMPERED_ERASURES) {
    await db.$executeRaw(raw(tamper))
    expect(await kinds()).toContain(kind)
    for (const table of [...tables, 'user_keys']) await db.$executeRaw(raw(`DELETE FROM ${table}`))
    for (const [table, rows] of kept)
      await db.$executeRaw(
        sql`INSERT INTO ${raw(table)} SELECT * FROM jsonb_populate_recordset(NULL::${raw(table)}, ${rows}::jsonb)`,
      )
  }
  expect(await kinds()).toEqual([])

  await erase({ organization, project, userId })
  await fold()
  const nobody = { userId: userOf('nobody').userId, partition: 0, offset: '0' }
  await complete([{ userId, ...place }, nobody], ['redis'])
  const wrong = ['receipts: stores', 'receipts: users', 'receipts: offset', 'user-events: no UserErased']
  expect((await kinds()).toSorted()).toEqual([...wrong, NO_STORE].toSorted())
})
