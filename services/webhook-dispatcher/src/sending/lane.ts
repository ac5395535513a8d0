import type { EndpointRef } from '@nextvisit/catalog'
import { LIVE_STREAM } from '@nextvisit/domain'
import { type AskedTurns, type EndpointHealth, type PendingDelivery, SMALL_BODY_BYTES, type Turn } from './due-turns.ts'
import type { Endpoint } from './endpoints.ts'

/** Turns of an endpoint in memory: waiting, in flight, or with a result that is not saved. As a multiple of those in flight. */
const CLAIMS_PER_REQUEST = 4

/** Large bodies in flight to an endpoint, bytes. A single one may be larger. */
const MAX_LARGE_BYTES = 4 * 1024 * 1024

/** Returns the bytes that a claim takes in memory while it is sent; 0: its body is small, and in memory already. */
export function largeBytesOf({ delivery: { bodyBytes } }: Claim): number {
  return bodyBytes > SMALL_BODY_BYTES ? bodyBytes : 0
}

/**
 * Returns the part of `most` requests that the process with these partitions has: each request belongs to a partition, and partitions are
 * dealt to processes in turn. A process without a part has one, so that none of its deliveries waits for ever.
 */
export function shareOf(most: number, owned: readonly number[], total: number): number {
  const belongsTo = (partition: number): number => Math.floor(most / total) + (partition < most % total ? 1 : 0)
  return Math.max(
    1,
    owned.reduce((sum, partition) => sum + belongsTo(partition), 0),
  )
}

/** A turn that this process attempts. */
export interface Claim {
  readonly turn: Turn
  readonly delivery: PendingDelivery
  /** `performance.now()` instant at which the delivery was read. */
  readonly claimedMs: number
}

/** Claims of the live stream of an endpoint, or of its replays. */
interface Queue {
  readonly waiting: Claim[]
  readonly claimed: Set<string>
  inFlight: number
  maxInFlight: number
}

/** The turns of an endpoint in this process. Replays have half of its requests at most, and only those that the live stream leaves. */
export interface Lane {
  readonly ref: EndpointRef
  /** The streams with a turn. */
  replayIds: readonly string[]
  /** By the workspace file, a 410, or five days of failures. Only tests are sent. */
  isDisabled: boolean
  failingSince: Date | undefined
  /** The first read of Postgres whose health counts. Earlier ones may not see that this process disables the endpoint. */
  trustedFrom: number
  readonly allow: (maxInFlight: number) => void
  readonly noteHealth: (health: EndpointHealth | undefined, endpoint: Endpoint | undefined) => void
  readonly disable: () => void
  /** Returns the number of turns to read of a stream, with those that are claimed; 0: it has enough. */
  readonly limit: (replayId: string) => number
  /** Notes the due turns that were read: `limit` of a stream at most. */
  readonly noteDue: (stream: Pick<AskedTurns, 'replayId' | 'limit'>, due: readonly Turn[]) => void
  /** Returns true if more users of a stream may be waiting than were read: one goes behind them after each delivery. */
  readonly isCrowded: (replayId: string) => boolean
  readonly isFree: (turn: Turn) => boolean
  readonly claim: (turn: Turn) => void
  readonly add: (claim: Claim) => void
  readonly release: (turn: Turn) => void
  /** Large bodies in flight, bytes. */
  largeBytes: number
  /** Takes the next claim into flight, if there is room. `room`: bytes of a large body for which this process has room. */
  readonly next: (room: number) => Claim | undefined
  readonly end: (claim: Claim) => void
  readonly isIdle: () => boolean
}

export function createLane({ organization, project, endpointId }: EndpointRef): Lane {
  const [live, replays] = [createQueue(), createQueue()]
  const crowded = new Set<string>()
  const queueOf = (replayId: string) => (replayId === LIVE_STREAM ? live : replays)
  const lane: Lane = {
    ref: { organization, project, endpointId },
    replayIds: [],
    isDisabled: false,
    failingSince: undefined,
    trustedFrom: 0,
    largeBytes: 0,
    allow: (maxInFlight) => {
      live.maxInFlight = maxInFlight
      replays.maxInFlight = Math.max(1, Math.floor(maxInFlight / 2))
    },
    noteHealth: (health, endpoint) => {
      const isOfThis = health?.addedAt.getTime() === Date.parse(endpoint?.webhook.addedAt ?? '')
      lane.isDisabled = endpoint?.webhook.enabled === false || Boolean(isOfThis && health?.disabledAt)
      lane.failingSince = (isOfThis && health?.failingSince) || undefined
    },
    disable: () => {
      // By another request that was in flight.
      if (lane.isDisabled) return
      lane.isDisabled = true
      lane.trustedFrom = Number.POSITIVE_INFINITY
    },
    limit: (replayId) => {
      const { claimed, maxInFlight } = queueOf(replayId)
      const max = maxInFlight * CLAIMS_PER_REQUEST
      return claimed.size * 2 > max ? 0 : max
    },
    noteDue: ({ replayId, limit }, due) => {
      if (due.filter((turn) => turn.replayId === replayId).length >= limit) crowded.add(replayId)
      else crowded.delete(replayId)
    },
    isCrowded: (replayId) => crowded.has(replayId),
    isFree: (turn) => !queueOf(turn.replayId).claimed.has(keyOf(turn)),
    claim: (turn) => void queueOf(turn.replayId).claimed.add(keyOf(turn)),
    add: (claim) => void queueOf(claim.turn.replayId).waiting.push(claim),
    release: (turn) => void queueOf(turn.replayId).claimed.delete(keyOf(turn)),
    next: (room) => {
      if (live.inFlight + replays.inFlight >= live.maxInFlight) return undefined
      const ownRoom = lane.largeBytes === 0 ? Infinity : MAX_LARGE_BYTES - lane.largeBytes
      // The only request of a process is not for a replay while a live claim waits, such as a large one.
      const mayReplay = replays.inFlight < replays.maxInFlight && (live.maxInFlight > 1 || live.waiting.length === 0)
      for (const queue of mayReplay ? [live, replays] : [live]) {
        const at = queue.waiting.findIndex((claim) => largeBytesOf(claim) <= Math.min(ownRoom, room))
        const [claim] = at < 0 ? [] : queue.waiting.splice(at, 1)
        if (!claim) continue
        queue.inFlight += 1
        lane.largeBytes += largeBytesOf(claim)
        return claim
      }
      return undefined
    },
    end: (claim) => {
      queueOf(claim.turn.replayId).inFlight -= 1
      lane.largeBytes -= largeBytesOf(claim)
    },
    isIdle: () => live.claimed.size + replays.claimed.size === 0,
  }
  return lane
}

function createQueue(): Queue {
  return { waiting: [], claimed: new Set(), inFlight: 0, maxInFlight: 1 }
}

function keyOf({ replayId, userId }: Turn): string {
  return `${replayId}/${userId}`
}
