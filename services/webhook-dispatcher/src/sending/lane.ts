import type { EndpointRef } from '@nextvisit/catalog'
import type { EndpointHealth, PendingDelivery, Turn } from './due-turns.ts'
import type { Endpoint } from './endpoints.ts'

/** Turns of an endpoint in memory: waiting, in flight, or with a result that is not saved. As a multiple of those in flight. */
const CLAIMS_PER_REQUEST = 4

/** A turn that this process attempts. */
export interface Claim {
  readonly turn: Turn
  readonly delivery: PendingDelivery
  /** `performance.now()` instant at which the delivery was read. */
  readonly claimedMs: number
}

/** The turns of an endpoint in this process. */
export interface Lane {
  readonly ref: EndpointRef
  readonly waiting: Claim[]
  inFlight: number
  maxInFlight: number
  /** By the workspace file, a 410, or five days of failures. Only tests are sent. */
  isDisabled: boolean
  failingSince: Date | undefined
  /** The first read of Postgres whose health counts. Earlier ones may not see that this process disables the endpoint. */
  trustedFrom: number
  readonly noteHealth: (health: EndpointHealth | undefined, endpoint: Endpoint | undefined) => void
  readonly disable: () => void
  /** Returns the number of turns to read, with those that are claimed; 0: it has enough. */
  readonly limit: () => number
  readonly isFree: (turn: Turn) => boolean
  readonly claim: (turn: Turn) => void
  readonly release: (turn: Turn) => void
  /** Takes the next claim into flight, if there is room. */
  readonly next: () => Claim | undefined
  readonly isIdle: () => boolean
}

export function createLane({ organization, project, endpointId }: EndpointRef): Lane {
  const claimed = new Set<string>()
  const lane: Lane = {
    ref: { organization, project, endpointId },
    waiting: [],
    inFlight: 0,
    maxInFlight: 1,
    isDisabled: false,
    failingSince: undefined,
    trustedFrom: 0,
    noteHealth: (health, endpoint) => {
      const isOfThis = health?.addedAt.getTime() === Date.parse(endpoint?.webhook.addedAt ?? '')
      lane.isDisabled = endpoint?.webhook.enabled === false || Boolean(isOfThis && health?.disabledAt)
      lane.failingSince = (isOfThis && health?.failingSince) || undefined
    },
    disable: () => {
      lane.isDisabled = true
      lane.trustedFrom = Number.POSITIVE_INFINITY
    },
    limit: () => {
      const max = lane.maxInFlight * CLAIMS_PER_REQUEST
      return claimed.size * 2 > max ? 0 : max
    },
    isFree: (turn) => !claimed.has(keyOf(turn)),
    claim: (turn) => void claimed.add(keyOf(turn)),
    release: (turn) => void claimed.delete(keyOf(turn)),
    next: () => {
      if (lane.inFlight >= lane.maxInFlight) return undefined
      const claim = lane.waiting.shift()
      if (claim) lane.inFlight += 1
      return claim
    },
    isIdle: () => claimed.size === 0,
  }
  return lane
}

function keyOf({ replayId, userId }: Turn): string {
  return `${replayId}/${userId}`
}
