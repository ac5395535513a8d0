import { randomUUID } from 'node:crypto'
import { encodeRecord, type ProjectRef, TOPICS, type UserFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, visit } from '@nextvisit/contracts/fixtures'
import { userIdOf } from '@nextvisit/domain'
import { createPublisher, partitionForKey, readWatermarks } from '@nextvisit/log'

const EVENTS = ['Checkout Completed', 'Signed In', 'Page Viewed', 'Export Started', 'Trial Ended']
const NO_PROJECT = { organization: '', project: '' }
const PUBLISH_WITHIN_MS = 30_000

interface Filling {
  /** Projects of the facts. Ten consecutive facts belong to one project. */
  readonly projects: readonly ProjectRef[]
  readonly facts: number
  /** Number of users. It must be coprime with 10, so that every user gets every kind of fact. */
  readonly users: number
  /** Maximum number of records in flight. Lower numbers make smaller batches in the log. Default 500. */
  readonly inFlight?: number
}

/** Publishes facts of all kinds, like the gateway. */
export async function fillLog(brokers: readonly string[], filling: Filling): Promise<void> {
  const connection = { brokers, clientId: 'fill-log' }
  const { facts, inFlight = 500 } = filling
  const partitions = (await readWatermarks(connection, TOPICS.userEvents)).size
  const publisher = createPublisher(connection, { requestTimeoutMs: PUBLISH_WITHIN_MS })
  await publisher.start()
  try {
    for (let from = 0; from < facts; from += inFlight) {
      const numbers = Array.from({ length: Math.min(inFlight, facts - from) }, (_, index) => from + index)
      const outcomes = await Promise.all(
        numbers.map((number) => {
          const fact = factOf(number, filling)
          const { value, headers } = encodeRecord(fact, { source: 'test', time: fact.received })
          const key = fact.userId
          const record = { topic: TOPICS.userEvents, partition: partitionForKey(key, partitions), key, value, headers }
          return publisher.publish(record, performance.now() + PUBLISH_WITHIN_MS)
        }),
      )
      const failed = outcomes.find(({ outcome }) => outcome !== 'published')
      if (failed) throw new Error(`Not every record was published: ${failed.outcome}`)
    }
  } finally {
    await publisher.stop(1_000)
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
