import { audit, type AuditReport, type ReadModel } from '@nextvisit/audit'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { createUserKeys, offlineParts } from '@nextvisit/consumer'
import { startRunner } from '@nextvisit/consumer/test/given-runner.ts'
import { encodeRecord, OrganizationConfig } from '@nextvisit/contracts'
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
import { readWatermarks } from '@nextvisit/log'
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
]
const READERS_OF_FORM_EVENTS: readonly string[] = ['answer-collector', 'webhook-dispatcher']

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
      .filter((described) => described.name !== 'user-eraser')
      .filter(({ name }) => services.some((service) => service === name))
      .map(async (described) => {
        const { name: service, schema } = described
        const consumer = onTopic(
          described,
          READERS_OF_FORM_EVENTS.includes(service) ? topics.formEvents : topics.userEvents,
        )
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
  expect(behind.lag.map(({ records }) => records)).toEqual([1, 1, 1, 1, 1, 1])

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
