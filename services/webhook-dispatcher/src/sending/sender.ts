import { setTimeout as sleep } from 'node:timers/promises'
import type { CommitDb } from '@nextvisit/database'
import { deliveryIdOf } from '@nextvisit/domain'
import { createOutageLog, type Logger, traceFields, type Tracing } from '@nextvisit/service-kit'
import { endpointKeyOf } from '../endpoints.ts'
import { effectOf, GONE } from './attempt-effect.ts'
import type { Capture } from './capture.ts'
import {
  type ActiveEndpoint,
  readActiveEndpoints,
  readBody,
  readDueTurns,
  readFirstDeliveries,
  SMALL_BODY_BYTES,
  TEST_DUE_AT,
} from './due-turns.ts'
import type { Endpoints } from './endpoints.ts'
import { type Claim, createLane, type Lane, largeBytesOf, shareOf } from './lane.ts'
import { createResultWriter } from './result-writer.ts'
import { CLAIM_MS, createPendingCheck } from './pending-check.ts'
import type { TurnResult } from './save-results.ts'
import { recordAttemptSpan } from './record-attempt-span.ts'
import { type AttemptResult, sendRequest } from './send-request.ts'
import { signAttempt } from './signature.ts'

/** Requests in flight to an endpoint, over all processes. */
const MAX_IN_FLIGHT = 32
/** The same of an endpoint whose attempts have all failed for some time: each may hold a connection until its deadline. */
const MAX_IN_FLIGHT_FAILING = 4
const FEWER_AFTER_MS = 60_000
/** Large bodies in flight to all endpoints, bytes. */
const MAX_LARGE_BYTES = 32 * 1024 * 1024
const IDLE_MS = 200
/** A turn whose body cannot be completed now is tried again after this. */
const CAPTURE_AGAIN_AFTER_MS = 3_000
const FAILED_AGAIN_AFTER_MS = 1_000
/**
 * A stop lasts for this time and the next one at most: three of the ten seconds that all parts of a process have. If the others need more
 * than the rest, the process ends, and what is not saved is sent again.
 */
const STOP_WITHIN_MS = 2_000
/** For results of requests that ended with the stop. Postgres may not answer: then their requests are sent again. */
const SAVE_WITHIN_MS = 1_000

export interface SenderParts {
  readonly db: CommitDb
  readonly endpoints: Endpoints
  readonly capture: Capture
  readonly owns: (partition: number) => boolean
  /** Returns those of the owned partitions whose rows may be sent. Default: all. */
  readonly foldedOf?: (owned: readonly number[]) => Promise<readonly number[]>
  /** Returns the number of partitions of form-events. */
  readonly countPartitions: () => Promise<number>
  readonly retryDelaysMs: readonly number[]
  readonly onAttempt?: (outcome: AttemptResult['outcome']) => void
  readonly tracing?: Tracing | undefined
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly now: () => Date
  /** Default: that of an attempt. */
  readonly attemptWithinMs?: number
  /** Time for requests in flight when it stops. Default: {@link STOP_WITHIN_MS}. */
  readonly stopWithinMs?: number
}

export type Sender = ReturnType<typeof createSender>

/**
 * Sends pending deliveries of the partitions that this process owns. Only the first pending delivery of a user and endpoint is attempted.
 * Each endpoint has requests of its own in flight, so it waits for no other. Attempts that a crash interrupts are made again.
 */
export function createSender(parts: SenderParts) {
  const {
    db,
    endpoints,
    capture,
    owns,
    foldedOf = async (owned) => owned,
    countPartitions,
    retryDelaysMs,
    onAttempt,
    tracing,
    logger,
    now,
    attemptWithinMs,
    stopWithinMs = STOP_WITHIN_MS,
  } = parts
  const lanes = new Map<string, Lane>()
  const inFlight = new Set<Promise<void>>()
  /** It claims no more; then it ends what is in flight. */
  const stopping = new AbortController()
  const ending = new AbortController()
  const outage = createOutageLog(logger, {
    began: 'Pending deliveries of webhooks cannot be read; trying again',
    ended: 'Pending deliveries of webhooks can be read again',
  })
  const stuck = createOutageLog(logger, {
    began: 'A webhook could not be attempted; trying again',
    ended: 'Webhooks are attempted again',
  })
  const writer = createResultWriter({ db, lanes, logger, now, onWritten: () => wake() })
  let [wake, running] = [(): void => {}, Promise.resolve()]
  let partitions: number | undefined
  /** Large bodies in flight, bytes. */
  let largeBytes = 0

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const woken = new Promise<void>((resolve) => (wake = resolve))
      const pauseMs = await claimDue().then(
        () => {
          outage.end()
          return IDLE_MS
        },
        (err: unknown) => {
          outage.begin({ err })
          return FAILED_AGAIN_AFTER_MS
        },
      )
      const timer = new AbortController()
      await Promise.race([woken, sleep(pauseMs, undefined, { signal: timer.signal }).catch(() => {})])
      timer.abort()
    }
  }

  async function claimDue(): Promise<void> {
    if (!endpoints.hasSome()) return
    // It is constant, and deliveries go on while Kafka is unavailable.
    partitions ??= await countPartitions()
    const total = partitions
    const owned = await foldedOf(Array.from({ length: total }, (_, partition) => partition).filter(owns))
    if (owned.length === 0) return
    const readNumber = writer.beginRead()
    const active = await readActiveEndpoints(db, owned, now())
    const asked = active.flatMap((one) => {
      const lane = laneOf(one)
      lane.replayIds = one.replayIds
      const endpoint = endpoints.find(one)
      if (readNumber >= lane.trustedFrom) lane.noteHealth(one.health, endpoint)
      const isFailing = lane.failingSince && now().getTime() - lane.failingSince.getTime() >= FEWER_AFTER_MS
      const most = isFailing ? MAX_IN_FLIGHT_FAILING : MAX_IN_FLIGHT
      lane.allow(shareOf(most, owned, total))
      // Turns of an endpoint that is unknown here wait: ticks delete them once it is removed.
      if (!endpoint) return []
      const until = lane.isDisabled ? TEST_DUE_AT : now()
      return one.replayIds.map((replayId) => ({ ...lane.ref, replayId, until, limit: lane.limit(replayId) }))
    })
    forgetIdleLanes(active)
    const wanted = asked.filter(({ limit }) => limit > 0)
    const due = await readDueTurns(db, owned, wanted)
    const byLane = Map.groupBy(due, laneOf)
    for (const one of wanted) laneOf(one).noteDue(one, byLane.get(laneOf(one)) ?? [])
    const turns = due.filter((turn) => laneOf(turn).isFree(turn))
    const deliveries = await readFirstDeliveries(db, turns)
    // Nothing is claimed yet, and a stop begins no request.
    if (stopping.signal.aborted) return
    const claimedMs = performance.now()
    for (const [at, turn] of turns.entries()) {
      const lane = laneOf(turn)
      const delivery = deliveries[at]
      lane.claim(turn)
      if (delivery) lane.add({ turn, delivery, claimedMs })
      else writer.add({ turn })
    }
    for (const lane of lanes.values()) pump(lane)
  }

  function laneOf(ref: Pick<ActiveEndpoint, 'organization' | 'project' | 'endpointId'>): Lane {
    const name = endpointKeyOf(ref)
    const lane = lanes.get(name) ?? createLane(ref)
    lanes.set(name, lane)
    return lane
  }

  function forgetIdleLanes(active: readonly ActiveEndpoint[]): void {
    const names = new Set(active.map(endpointKeyOf))
    for (const [name, lane] of lanes) if (lane.isIdle() && !names.has(name)) lanes.delete(name)
  }

  function pump(lane: Lane): void {
    for (let claim = lane.next(roomForLarge()); claim; claim = lane.next(roomForLarge())) begin(lane, claim)
  }

  /** Bytes of a large body for which there is room. A single one may be larger. */
  function roomForLarge(): number {
    return largeBytes === 0 ? Infinity : MAX_LARGE_BYTES - largeBytes
  }

  function begin(lane: Lane, claim: Claim): void {
    const bytes = largeBytesOf(claim)
    largeBytes += bytes
    const attempt = attemptOnce(lane, claim).catch((err: unknown) => {
      stuck.begin({ err, endpoint: endpointKeyOf(lane.ref), ...traceFields(claim.delivery.traceparent) })
      writer.add({ turn: claim.turn, nextAt: later(CAPTURE_AGAIN_AFTER_MS) })
    })
    const ended = attempt.finally(() => {
      inFlight.delete(ended)
      lane.end(claim)
      largeBytes -= bytes
      if (stopping.signal.aborted) return
      pump(lane)
      // Large bodies of other endpoints may have waited for the room.
      if (bytes > 0) for (const other of lanes.values()) pump(other)
    })
    inFlight.add(ended)
  }

  /** Makes one attempt with the endpoint as it is now. A claim that is old, or no longer ours, is given back. */
  async function attemptOnce(lane: Lane, { turn, delivery, claimedMs }: Claim): Promise<void> {
    const endpoint = endpoints.find(turn)
    const isTest = delivery.type === 'webhook.test'
    const isStale = performance.now() - claimedMs > CLAIM_MS
    if (!endpoint || isStale || !owns(turn.partition) || (lane.isDisabled && !isTest)) return release(lane, turn)
    const { addedAt } = endpoint.webhook
    // Of an endpoint that was removed, and added again with its id: ticks delete it.
    if (!isTest && delivery.deliveryId !== deliveryIdOf({ ...turn, addedAt }, delivery))
      return writer.add({ turn, nextAt: later(CAPTURE_AGAIN_AFTER_MS) })
    const stored = delivery.body ?? (await readBody(db, delivery.deliveryId))
    if (stored === undefined) return release(lane, turn)
    const streams = { addedAt, replayIds: lane.replayIds }
    const completed =
      delivery.capture.length > 0
        ? await capture.complete(turn, { ...delivery, body: stored }, streams)
        : ({ outcome: 'captured', body: stored } as const)
    if (completed.outcome === 'changed') return release(lane, turn)
    if (completed.outcome === 'gone') return writer.add({ turn, gone: delivery.deliveryId })
    if (completed.outcome !== 'captured') return writer.add({ turn, nextAt: later(CAPTURE_AGAIN_AFTER_MS) })
    const { body } = completed
    // A body that has become large waits until there is room for it.
    if (body !== stored && Buffer.byteLength(body) > SMALL_BODY_BYTES) return release(lane, turn)
    const at = now()
    const beganAt = performance.now()
    const result = await sendRequest({
      url: endpoint.url,
      agent: endpoints.agentOf(endpoint),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Nextvisit-Webhooks',
        ...signAttempt({ webhookId: delivery.webhookId, body }, endpoint.secrets, at),
      },
      body,
      signal: ending.signal,
      isToSend: createPendingCheck({ db, owns, turn, delivery, readMs: claimedMs }),
      ...(attemptWithinMs !== undefined && { withinMs: attemptWithinMs }),
    })
    if (!result) return release(lane, turn)
    stuck.end()
    onAttempt?.(result.outcome)
    if (tracing)
      recordAttemptSpan(tracing, { url: endpoint.url, delivery, endpointId: turn.endpointId, result, beganAt })
    const own = effectOf(result, { lane, turn, isTest, round: delivery.round + 1 }, { now: now(), retryDelaysMs })
    writer.add(
      { turn, attempt: { deliveryId: delivery.deliveryId, at, result, ...own.attempt }, ...own.turn },
      isTest ? undefined : { addedAt, isGone: result.httpStatus === GONE },
    )
  }

  function release(lane: Lane, turn: TurnResult['turn']): void {
    lane.release(turn)
    wake()
  }

  async function finish(): Promise<void> {
    await running
    await Promise.race([Promise.all(inFlight), sleep(stopWithinMs, undefined, { ref: false })])
    ending.abort()
    await Promise.all(inFlight)
    await writer.finish()
  }

  function later(ms: number): Date {
    return new Date(now().getTime() + ms)
  }

  return {
    /** Number of requests in flight in this process. */
    inFlight: (): number => inFlight.size,
    start: async (): Promise<void> => {
      running = run()
    },
    /** Waits some seconds for requests in flight. Others do not count as attempts. */
    stop: async (): Promise<void> => {
      stopping.abort()
      wake()
      await Promise.race([finish(), sleep(stopWithinMs + SAVE_WITHIN_MS, undefined, { ref: false })])
      ending.abort()
      endpoints.close()
    },
  }
}
