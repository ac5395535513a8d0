import {
  type Answers,
  answerCollectorCalls,
  type KnownTraits,
  type ProjectRef,
  type UserQuery,
  userProjectorCalls,
} from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { type Captured, deliveryIdOf, LIVE_STREAM, projectKeyOf, withCaptured } from '@nextvisit/domain'
import {
  type Addresses,
  type BatchedCall,
  type CallClient,
  createBatchedCall,
  createCallClient,
  createInternalClient,
} from '@nextvisit/service-kit'
import type { CompleteHeard } from '../listeners.ts'
import type { PendingDelivery as ReadDelivery, Turn } from './due-turns.ts'

const ASK_WITHIN_MS = 3_000
/** Maximum number of users in one question. The traits of a user have at most 256 KiB, so an answer has 6.25 MiB of the 8 MiB that a client reads. */
export const MAX_USERS_ASKED = 25
/** Maximum number of questions in flight about users. */
const MAX_CALLS = 12
/** After this, the profile of a projector that is behind will do. */
const STALE_AFTER_MS = 60_000

/** A pending delivery with its body. */
type PendingDelivery = ReadDelivery & { readonly body: string }

type Asked<Value> = { readonly outcome: 'known'; readonly value: Value } | { readonly outcome: 'later' | 'gone' }

/**
 * `later`: a service is down, or behind. `gone`: the answers do not exist, mostly because the user is erased. `changed`: the row is
 * another one now, or deleted.
 */
export type CaptureOutcome =
  | { readonly outcome: 'captured'; readonly body: string }
  | { readonly outcome: 'later' | 'gone' | 'changed' }

export interface CaptureParts {
  readonly db: Db
  /** Asks for the traits of a user in a partition, together with other questions that wait. */
  readonly readTraits: TraitsReader
  readonly answers: Pick<CallClient<typeof answerCollectorCalls>, 'readOfferAnswers'>
  readonly now: () => Date
}

export type Capture = ReturnType<typeof createCapture>

type TraitsReader = (partition: number, user: UserQuery) => ReturnType<BatchedCall<UserQuery, KnownTraits>>

/** Creates a function that asks about users of the same partition together: an answer waits for the slowest partition in its question. */
export function createTraitsReader(ask: CallClient<typeof userProjectorCalls>['readTraits']): TraitsReader {
  const options = { tenantOf: projectKeyOf, maxWeight: MAX_USERS_ASKED, maxCalls: 1, silentAfterMs: ASK_WITHIN_MS }
  const calls = new Map<number, BatchedCall<UserQuery, KnownTraits>>()
  return (partition, user) => {
    const nth = partition % MAX_CALLS
    const call = calls.get(nth) ?? createBatchedCall(ask, options)
    calls.set(nth, call)
    return call(user)
  }
}

/** Creates the clients that captures need. */
export function createCaptureClients(
  services: Readonly<Record<'user-projector' | 'answer-collector', Addresses>>,
  token: string,
): Pick<CaptureParts, 'readTraits' | 'answers'> {
  const sendTo = (service: keyof typeof services) =>
    createInternalClient({ addresses: services[service], token, timeoutMs: ASK_WITHIN_MS })
  return {
    readTraits: createTraitsReader(createCallClient(userProjectorCalls, sendTo('user-projector')).readTraits),
    answers: createCallClient(answerCollectorCalls, sendTo('answer-collector')),
  }
}

/**
 * Completes the bodies of deliveries whose members other services have. A body is written before anything is sent, and never changes
 * again: neither for a retry, nor for a replay of the same record.
 */
export function createCapture({ db, readTraits, answers, now }: CaptureParts) {
  async function complete(turn: Turn, delivery: PendingDelivery, streams: Streams): Promise<CaptureOutcome> {
    const siblings = siblingsOf(turn, delivery, streams)
    const kept = siblings.length > 0 ? await readKept(siblings) : undefined
    if (kept !== undefined) return write(delivery, siblings, kept)
    const [traits, given] = await Promise.all([
      delivery.capture.includes('traits') ? askTraits(turn, delivery) : NOTHING,
      delivery.capture.includes('answers') ? askAnswers(answers, turn, delivery.body) : NOTHING,
    ])
    if (traits.outcome !== 'known') return { outcome: traits.outcome }
    if (given.outcome !== 'known') return { outcome: given.outcome }
    return write(delivery, siblings, withCaptured(delivery.body, { traits: traits.value, answers: given.value }))
  }

  /** Returns the body of a delivery of the same record that was completed before. */
  async function readKept(siblings: readonly string[]): Promise<string | undefined> {
    const [row] = await db.$queryRaw<{ readonly body: string }[]>(sql`
      SELECT body FROM deliveries WHERE delivery_id = ANY(${[...siblings]}::uuid[]) AND capture = '{}'
      ORDER BY created_at LIMIT 1`)
    return row?.body
  }

  /** Completes all deliveries of the record. Its delivery in another stream may have been faster, or an erasure. */
  async function write(
    { deliveryId }: PendingDelivery,
    siblings: readonly string[],
    body: string,
  ): Promise<CaptureOutcome> {
    const written = await db.$queryRaw<{ readonly deliveryId: string }[]>(sql`
      UPDATE deliveries SET body = ${body}, capture = '{}'
      WHERE delivery_id = ANY(${[deliveryId, ...siblings]}::uuid[]) AND capture <> '{}'
      RETURNING delivery_id AS "deliveryId"`)
    return written.some((row) => row.deliveryId === deliveryId) ? { outcome: 'captured', body } : { outcome: 'changed' }
  }

  async function askTraits(
    { organization, project, userId, partition }: Turn,
    { createdAt }: PendingDelivery,
  ): Promise<Asked<Captured['traits']>> {
    const asked = await readTraits(partition, { organization, project, userId })
    if (asked.outcome !== 'answered' || asked.answer.existence === 'unknown') return { outcome: 'later' }
    const { stale, traits } = asked.answer
    const isTooFresh = now().getTime() - createdAt.getTime() < STALE_AFTER_MS
    return stale && isTooFresh ? { outcome: 'later' } : { outcome: 'known', value: traits }
  }

  return { complete }
}

/** Asks for all answers of the offer that a body names. */
async function askAnswers(
  answers: CaptureParts['answers'],
  { organization, project, userId }: ProjectRef & { readonly userId: string },
  body: string,
): Promise<Asked<Answers>> {
  const { data } = JSON.parse(body) as { readonly data: { readonly offerId: string } }
  const asked = await answers.readOfferAnswers({ organization, project, userId, offerId: data.offerId })
  if (asked.outcome === 'not-found') return { outcome: 'gone' }
  return asked.outcome === 'answered' ? { outcome: 'known', value: asked.answer.answers } : { outcome: 'later' }
}

/** Returns a function that completes what listeners hear. No endpoint includes traits there. */
export function createHeardCapture(answers: CaptureParts['answers']): CompleteHeard {
  return async (event) => {
    if (!event.capture.includes('answers')) return { outcome: 'known', body: event.body }
    const asked = await askAnswers(answers, event, event.body)
    return asked.outcome === 'known'
      ? { outcome: 'known', body: withCaptured(event.body, { answers: asked.value }) }
      : { outcome: asked.outcome }
  }
}

const NOTHING = { outcome: 'known', value: undefined } as const

/** The streams of an endpoint that may have a delivery of the same record. */
interface Streams {
  /** Of the endpoint. */
  readonly addedAt: string
  /** Replays with a turn. */
  readonly replayIds: readonly string[]
}

/** Returns the ids of deliveries of the same record in the live stream and in replays. They may not exist. */
function siblingsOf(turn: Turn, delivery: PendingDelivery, { addedAt, replayIds }: Streams): readonly string[] {
  const others = new Set([LIVE_STREAM, ...replayIds])
  others.delete(turn.replayId)
  return Array.from(others, (replayId) => deliveryIdOf({ ...turn, addedAt, replayId }, delivery))
}
