import { randomUUID } from 'node:crypto'
import { encodeRecord, type ProjectRef, type Seal, TOPICS, USER_KEYS_TOPIC, type UserFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, visit } from '@nextvisit/contracts/fixtures'
import { userIdOf } from '@nextvisit/domain'
import { createPublisher, partitionForKey, readWatermarks, type RecordToPublish } from '@nextvisit/log'
import { createDataKey, type DataKey, parseKeyRing } from '@nextvisit/sealing'

const EVENTS = ['Checkout Completed', 'Signed In', 'Page Viewed', 'Export Started', 'Trial Ended']
const NO_PROJECT = { organization: '', project: '' }
const PUBLISH_WITHIN_MS = 30_000

interface Filling {
  /** Projects of the facts. Ten consecutive facts belong to one project. */
  readonly projects: readonly ProjectRef[]
  readonly facts: number
  /** Number of users. It must be coprime with 10, so that every user gets every kind of fact. */
  readonly users: number
  /** NEXTVISIT_SECRET_KEY of the stack. */
  readonly secretKey: string
  /** Maximum number of records in flight. Lower numbers make smaller batches in the log. Default 500. */
  readonly inFlight?: number
}

/** Publishes facts of all kinds, like the gateway. */
export async function fillLog(brokers: readonly string[], filling: Filling): Promise<void> {
  const connection = { brokers, clientId: 'fill-log' }
  const { facts, inFlight = 500 } = filling
  const partitions = (await readWatermarks(connection, TOPICS.userEvents)).size
  const publisher = createPublisher(connection, { requestTimeoutMs: PUBLISH_WITHIN_MS })
  const keys = createKeys(filling.secretKey)
  const publish = async (records: readonly Omit<RecordToPublish, 'partition'>[]): Promise<void> => {
    const outcomes = await Promise.all(
      records.map((record) => {
        const partition = partitionForKey(record.key.slice(0, USER_ID_LENGTH), partitions)
        return publisher.publish({ ...record, partition }, performance.now() + PUBLISH_WITHIN_MS)
      }),
    )
    const failed = outcomes.find(({ outcome }) => outcome !== 'published')
    if (failed) throw new Error(`Not every record was published: ${failed.outcome}`)
  }
  await publisher.start()
  try {
    for (let from = 0; from < facts; from += inFlight) {
      const chunk = Array.from({ length: Math.min(inFlight, facts - from) }, (_, index) =>
        factOf(from + index, filling),
      )
      await publish(keys.createMissing(chunk))
      await publish(
        chunk.map((fact) => {
          const encoded = encodeRecord(fact, { source: 'test', time: fact.received, seal: keys.sealOf(fact.userId) })
          return { topic: TOPICS.userEvents, key: fact.userId, ...encoded }
        }),
      )
    }
  } finally {
    await publisher.stop(1_000)
  }
}

const USER_ID_LENGTH = 36

/** Creates a data key for each user. */
function createKeys(secretKey: string) {
  const parsed = parseKeyRing(secretKey)
  if (parsed.outcome === 'invalid') throw new TypeError(parsed.reason)
  const { ring } = parsed
  const keys = new Map<string, DataKey>()
  return {
    /** Returns the records of new keys, to be published before the facts. */
    createMissing: (facts: readonly UserFact[]) => {
      const missing = new Set(facts.map(({ userId }) => userId).filter((userId) => !keys.has(userId)))
      return [...missing].map((userId) => {
        const { key, wrapped } = createDataKey(ring, userId, Date.now())
        keys.set(userId, key)
        return { topic: USER_KEYS_TOPIC, key: `${userId}/${key.id}`, value: wrapped.wrapped, headers: {} }
      })
    },
    sealOf: (userId: string): Seal | undefined => {
      const key = keys.get(userId)
      return key && ((text, context) => ({ key: key.id, bytes: key.seal(text, context) }))
    },
  }
}

/** Returns mostly events, with some identifies, visits and idempotent records. */
function factOf(number: number, { projects, users }: Filling): UserFact {
  const { organization, project } = projects[Math.floor(number / 10) % projects.length] ?? NO_PROJECT
  const userName = `filled-${number % users}`
  const common = {
    organization,
    project,
    id: randomUUID(),
    userName,
    userId: userIdOf(organization, project, userName),
    received: new Date().toISOString(),
  }
  const keyed = number % 50 === 0
  switch (number % 10) {
    case 0:
      return identifyRequested({
        ...common,
        keyed,
        operations: { set: { plan: 'pro', seen: number }, increment: { visits: 1 } },
      })
    case 1:
      return visit({ ...common, device: { $countryCode: 'DE' } })
    case 2:
      return eventTracked({ ...common, source: 'sdk', eventName: 'Clicked', slug: 'clicked' })
    default:
      return eventTracked({ ...common, keyed, ...eventOf(number) })
  }
}

function eventOf(number: number): { readonly eventName: string; readonly slug: string } {
  const eventName = EVENTS[number % EVENTS.length] ?? 'Seen'
  return { eventName, slug: eventName.toLowerCase().replaceAll(' ', '_') }
}
