import { randomUUID } from 'node:crypto'
import { eventually, runPacedLoad } from '@nextvisit/testing/black-box'
import type { Offer, RecordingClient, Request } from './recording-client.ts'
import type { CampaignProject } from './campaign-projects.ts'
import type { Random } from './seeded-random.ts'

/** Maximum number of open requests. With more during an outage, the load would only measure itself. */
const MOST_OPEN = 24
const EVENTS = ['Signed In', 'checkout completed', 'Export Done', 'Page viewed'] as const

interface TrafficOptions {
  readonly client: RecordingClient
  readonly projects: readonly CampaignProject[]
  readonly random: Random
  readonly perSecond: number
  /** Default: {@link EVERYTHING}. */
  readonly mix?: Mix
}

/** The mix of requests. */
export interface Mix {
  /** Users of each project. */
  readonly users: number
  /** `offer`: the last form that the user got. */
  readonly requestOf: (userName: string, random: Random, offer?: Offer) => Request
}

/** Requests of random users. Some have an `Idempotency-Key` and are retried if they fail. */
interface Traffic {
  /** Identifies every user once, so that no user is unknown. */
  readonly begin: () => Promise<void>
  /** Sends requests until `stop`. */
  readonly start: () => void
  /** Resolves after the last answer. */
  readonly stop: () => Promise<void>
}

export function createTraffic({ client, projects, random, perSecond, mix = EVERYTHING }: TrafficOptions): Traffic {
  const stopping = new AbortController()
  let running: Promise<unknown> = Promise.resolve()
  const offers = new Map<string, Offer>()

  const sendOne = async (): Promise<void> => {
    const project = random.oneOf(projects)
    const keyed = random.between(0, 4) === 0 ? { idempotencyKey: randomUUID() } : {}
    const userName = nameOf(random.between(0, mix.users - 1))
    const user = `${project.organization}/${project.project}/${userName}`
    const request = { ...mix.requestOf(userName, random, offers.get(user)), ...keyed }
    const { status, offer } = await client.send(project, request)
    if (offer) offers.set(user, offer)
    const hasFailed = status === undefined || status >= 500
    if (hasFailed && request.idempotencyKey !== undefined) await client.send(project, request)
  }

  return {
    begin: async () => {
      for (const project of projects) {
        for (let user = 0; user < mix.users; user++) {
          const body = { userName: nameOf(user), userAttributes: { $set: { plan: user % 2 === 0 ? 'pro' : 'free' } } }
          const identify = () => client.send(project, { route: '/v2/admin/identify-user', body })
          const { status } = await eventually(identify, (answer) => answer.status === 200, 30_000)
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

const nameOf = (user: number): string => `user-${user}`

/** A mix of identifies, tracked events, visits and answers. */
const EVERYTHING: Mix = { users: 25, requestOf: randomRequest }

function randomRequest(userName: string, random: Random, offer?: Offer): Request {
  const kind = random.between(0, 10)
  if (kind === 10) return randomAnswers(userName, random, offer)
  const isSdk = kind % 2 === 1
  if (kind >= 5) {
    const eventName = random.oneOf(EVENTS)
    const properties = kind >= 8 && { properties: { cart: { total: random.between(0, 99) } } }
    const body = { userName, eventName, ...properties }
    return { route: isSdk ? '/v2/sdk/track-event' : '/v2/admin/track-event', body }
  }
  const body = { userName, userAttributes: randomTraits(random) }
  return { route: isSdk ? '/v2/sdk/identify-user' : '/v2/admin/identify-user', body }
}

/** Answers the last form of the user, or one that the user never got. */
function randomAnswers(userName: string, random: Random, offer = unknownOffer()): Request {
  const status = random.oneOf(['partial', 'finished', 'dismissed'])
  const answers = { score: random.between(0, 10), ...(random.between(0, 1) === 1 && { reason: `${random.next()}` }) }
  return { route: '/v2/sdk/answers', body: { userName, ...offer, answers, status } }
}

function unknownOffer(): Offer {
  return { offerId: randomUUID(), formId: 'always', revision: 1 }
}

/** Increments reveal lost and doubled records; sets reveal a wrong order. */
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
