import { randomUUID } from 'node:crypto'
import { runPacedLoad } from '@nextvisit/testing/black-box'
import type { Callers, Request } from './callers.ts'
import type { Customer } from './customers.ts'
import type { Random } from './seeded-random.ts'

const USERS = 25
/** Whoever sends on while nothing is answered only measures itself. */
const MOST_OPEN = 24
const EVENTS = ['Signed In', 'checkout completed', 'Export Done', 'Page viewed'] as const

export interface TrafficOptions {
  readonly callers: Callers
  readonly customers: readonly Customer[]
  readonly random: Random
  readonly perSecond: number
}

/** What callers do all day: identify, track, visit; a part of it under an `Idempotency-Key`, sent again where that failed. */
export interface Traffic {
  /** Names every user once, so that none is unknown. */
  readonly begin: () => Promise<void>
  /** Goes on until `stop`. */
  readonly start: () => void
  /** Resolves after the last answer. */
  readonly stop: () => Promise<void>
}

export function createTraffic({ callers, customers, random, perSecond }: TrafficOptions): Traffic {
  const stopping = new AbortController()
  let running: Promise<unknown> = Promise.resolve()

  const sendOne = async (): Promise<void> => {
    const customer = random.oneOf(customers)
    const request = randomRequest(random)
    const { status } = await callers.send(customer, request)
    const hasFailed = status === undefined || status >= 500
    if (hasFailed && request.idempotencyKey !== undefined) await callers.send(customer, request)
  }

  return {
    begin: async () => {
      for (const customer of customers) {
        for (let user = 0; user < USERS; user++) {
          const body = { userName: `user-${user}`, userAttributes: { $set: { plan: user % 2 === 0 ? 'pro' : 'free' } } }
          const { status } = await callers.send(customer, { route: '/v2/admin/identify-user', body })
          if (status !== 200) throw new Error(`A healthy stack answered ${status} to an identify`)
        }
      }
    },
    start: () => {
      running = runPacedLoad(perSecond, stopping.signal, sendOne, MOST_OPEN)
    },
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

function randomRequest(random: Random): Request {
  const userName = `user-${random.between(0, USERS - 1)}`
  const kind = random.between(0, 9)
  const isSdk = kind % 2 === 1
  const keyed = random.between(0, 4) === 0 ? { idempotencyKey: randomUUID() } : {}
  if (kind >= 5) {
    const body = { userName, eventName: random.oneOf(EVENTS) }
    return { route: isSdk ? '/v2/sdk/track-event' : '/v2/admin/track-event', body, ...keyed }
  }
  const body = { userName, userAttributes: randomTraits(random) }
  return { route: isSdk ? '/v2/sdk/identify-user' : '/v2/admin/identify-user', body, ...keyed }
}

/** Sums show what was lost or counted twice, sets show what came in another order. */
function randomTraits(random: Random): object {
  const slug = `t${random.between(0, 9)}`
  return random.oneOf([
    { $increment: { visits: 1 } },
    { $decrement: { credit: random.between(1, 5) } },
    { $set: { [slug]: random.next() } },
    { $setOnce: { [slug]: random.between(0, 999) }, $increment: { visits: 1 } },
    { $unset: [slug] },
  ])
}
