import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { OrganizationConfig, type UserFact } from '@nextvisit/contracts'
import {
  answerGiven,
  eventTracked,
  identifyRequested,
  userIdFixture,
  visit,
  visitAnswered,
} from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { countKeyOf, queuedIdOf } from '@nextvisit/domain'
import { describeProjection } from '@nextvisit/testing'
import { at, MINUTE, nps, SECOND } from '../test/evaluator-fixtures.ts'
import { formTriggerEvaluator } from './consumer.ts'

const where = { property: 'total', atLeast: 100 } as const
const LARGE = { event: 'Opened', count: 2, within: '1h', where }
const LARGE_LEAF = { event: 'Opened', within: '7d', where }
const countsFor = [countKeyOf(LARGE).slice('opened#'.length)]
const opened = { eventName: 'Opened', properties: { total: 100 }, countsFor }

const forms = [
  { ...nps, frequency: { repeat: 'always' }, expiresAfter: '10m' },
  { ...nps, id: 'pros', audience: { trait: 'plan', is: 'pro' } },
  { ...nps, id: 'often', triggers: [{ event: 'checkout_completed', count: 3, within: '1h' }] },
  { id: 'large', triggers: [LARGE], audience: { ...LARGE_LEAF, atLeast: 1 } },
  { id: 'welcome', triggers: [{ visit: {} }], priority: 5 },
  { id: 'csat', triggers: [{ visit: {} }], frequency: { until: 'answered' } },
  { id: 'detractors', triggers: [{ visit: {} }], audience: { answer: { form: 'nps', element: 'score' }, atMost: 6 } },
  { id: 'follow-up', triggers: [{ answered: { form: 'nps', where: { answer: 'score', atMost: 6 } } }] },
]
const catalog = staticCatalog([OrganizationConfig.parse({ id: 'acme', projects: [{ id: 'shop', forms }] })])

const checkout = eventTracked({ received: at(SECOND) })
const firstVisit = visit({ received: at(MINUTE), device: { $countryCode: 'DE' } })
const queuedId = queuedIdOf(checkout.id, checkout.received, 'nps')
const facts: readonly UserFact[] = [
  identifyRequested({ operations: { set: { plan: 'free' } } }),
  checkout,
  eventTracked({ received: at(2 * SECOND), evaluateTriggers: false, occurredAt: at(-30 * MINUTE) }),
  firstVisit,
  answerGiven({ keyed: true }),
  answerGiven({ offerId: queuedId, received: at(MINUTE + SECOND), status: 'partial', keyed: true }),
  visitAnswered({
    visitId: firstVisit.id,
    queuedId,
    formId: 'nps',
    received: firstVisit.received,
    userId: checkout.userId,
  }),
  answerGiven({
    offerId: queuedId,
    received: at(MINUTE + 2 * SECOND),
    answers: { score: 4 },
    elements: { score: 'nps' },
  }),
  answerGiven({ received: at(MINUTE + 2 * SECOND), formId: 'csat', answers: { reason: 'slow' } }),
  answerGiven({ offerId: queuedId, received: at(MINUTE + 3 * SECOND), status: 'dismissed' }),
  answerGiven({ offerId: queuedId, received: at(MINUTE + 3 * SECOND), userName: 'bob' }),
  identifyRequested({
    received: at(2 * MINUTE),
    keyed: true,
    operations: { set: { plan: 'pro' }, increment: { n: 1 } },
  }),
  eventTracked({ received: at(3 * MINUTE), source: 'sdk', keyed: true }),
  eventTracked({ received: at(3 * MINUTE), userName: 'bob' }),
  visit({ received: at(4 * MINUTE), userName: 'bob' }),
  eventTracked({ received: at(20 * MINUTE) }),
  eventTracked({ received: at(21 * MINUTE), source: 'sdk', eventName: '__proto__', slug: '__proto__' }),
  eventTracked({ received: at(30 * MINUTE), ...opened }),
  eventTracked({ received: at(31 * MINUTE), ...opened, source: 'sdk', keyed: true }),
  eventTracked({ received: at(32 * MINUTE), eventName: 'Opened', properties: { total: 1 } }),
  visit({ received: at(60 * MINUTE), userId: userIdFixture('ada') }),
  // More than is kept of a user: the same is dropped, however records are cut into batches.
  identifyRequested({ received: at(61 * MINUTE), userName: 'bob', operations: { set: traits(0, 990) } }),
  identifyRequested({ received: at(62 * MINUTE), userName: 'bob', operations: { setOnce: traits(980, 30) } }),
]

function traits(from: number, count: number) {
  return Object.fromEntries(Array.from({ length: count }, (_, nth) => [`trait_${from + nth}`, nth]))
}

/**
 * All columns, except numbers that the database generates, offsets, which duplicates and poison move, and sealed bytes, which differ in
 * each encoding of a fact.
 */
async function readRows(db: Db): Promise<unknown> {
  return {
    ...(await readRebuiltRows(db)),
    queue: await db.$queryRaw(sql`
      SELECT (to_jsonb(queue) - 'cause_offset')::text FROM queue ORDER BY organization, project, user_id, id`),
    decisions: await db.$queryRaw(sql`SELECT to_jsonb(decisions)::text FROM decisions ORDER BY user_id, form_id`),
    outcomes: await db.$queryRaw(
      sql`SELECT to_jsonb(idempotent_outcomes)::text FROM idempotent_outcomes ORDER BY record_id`,
    ),
    outbox: await db.$queryRaw(sql`
      SELECT topic, key, (value::jsonb - 'causeOffset' #- '{sealed,bytes}')::text AS value, headers::text FROM outbox ORDER BY sequence`),
  }
}

/** The queue is not a fold of `user-events`: a rebuild leaves it as it is. */
async function readRebuiltRows(db: Db) {
  return {
    users: await db.$queryRaw(sql`SELECT to_jsonb(users)::text FROM users ORDER BY user_id`),
    events: await db.$queryRaw(
      sql`SELECT to_jsonb(event_occurrences)::text FROM event_occurrences ORDER BY user_id, slug`,
    ),
    answers: await db.$queryRaw(sql`SELECT to_jsonb(form_answers)::text FROM form_answers ORDER BY user_id, form_id`),
  }
}

describeProjection(formTriggerEvaluator, { facts, readRows, readRebuiltRows, catalog })
