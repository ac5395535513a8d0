import { audit, type AuditReport, type ReadModel } from '@nextvisit/audit'
import { createUserKeys, offlineParts } from '@nextvisit/consumer'
import { startRunner } from '@nextvisit/consumer/test/given-runner.ts'
import {
  answerGiven,
  eventTracked,
  formAnswered,
  formDelivered,
  formQueued,
  identifyRequested,
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
]

/** Creates a log and the read models of these consumers, and functions that fold the log and audit them. */
async function givenProduct(services = EVERY_SERVICE) {
  const log = await givenSealedLog()
  const { connection, topics } = log
  const { topic: catalog } = await createTestTopic(inject('kafkaBrokers'))
  const models = await Promise.all(
    consumers
      .filter((described) => described.name !== 'user-eraser' && described.name !== 'webhook-dispatcher')
      .filter(({ name }) => services.some((service) => service === name))
      .map(async (described) => {
        const { name: service, schema } = described
        const consumer = onTopic(described, service === 'answer-collector' ? topics.formEvents : topics.userEvents)
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

  /** Folds the log to its present end, with processes that then stop. */
  async function fold(): Promise<void> {
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
        return { ...(await startRunner(projection, connection, db, { userKeys })), userKeys }
      }),
    )
    await expect.poll(lags, { timeout: 60_000, interval: 500 }).toEqual(models.map(() => 0))
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
  expect(behind.lag.map(({ records }) => records)).toEqual([1, 1, 1, 1, 1])

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
