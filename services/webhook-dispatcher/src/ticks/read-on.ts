import type { Recorded, TickContext } from '@nextvisit/consumer'
import type { AnyFormFact, WebhookEvent } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { deliveryIdOf, LIVE_STREAM, thinPayloadOf } from '@nextvisit/domain'
import type { Position } from '../draft.ts'
import { endpointKeyOf, wants } from '../endpoints.ts'
import { deliveryOf, type NewDelivery, type Report } from '../new-deliveries.ts'
import { deliveries, replays } from '../tables.ts'
import type { Behind } from './plan-tick.ts'
import type { Replay } from './read-rows.ts'

/** Maximum records that a tick reads for live streams, apart from the rest of a fetch. */
const MAX_LIVE_RECORDS_A_TICK = 3_000
/** The same for replays. Twelve partitions read faster than a process sends, and live deliveries wait for each tick. */
const MAX_REPLAYED_RECORDS_A_TICK = 1_000
const MIN_RECORDS_A_READ = 250
/** The rest waits for the next tick: batches of the partition wait for this one. */
const MAX_ROWS_A_TICK = 6_000
/** A replay of a record takes the body of the live stream, or of these other replays that contain the record, the latest first. */
const MAX_SIBLINGS = 5

/** Deliveries of positions that were behind, and where the positions are then. */
export interface ReadOn {
  readonly deliveries: readonly NewDelivery[]
  readonly moved: readonly Position[]
}

/**
 * Reads positions on, at most up to the checkpoint. Those that are near each other share a read. Live streams come before replays. `round`:
 * a number that grows with each tick, so that no position waits for another one for ever.
 */
export async function readOn(
  behind: readonly Behind[],
  context: TickContext<AnyFormFact>,
  { createdAt, round }: { readonly createdAt: string; readonly round: number },
): Promise<ReadOn> {
  const all: { readonly deliveries: NewDelivery[]; readonly moved: Position[] } = { deliveries: [], moved: [] }
  for (const [isOfKind, maxRecords] of [
    [isLiveStream, MAX_LIVE_RECORDS_A_TICK],
    [isReplay, MAX_REPLAYED_RECORDS_A_TICK],
  ] as const) {
    const waiting = rotated(behind.filter(isOfKind), round)
    const atMost = Math.max(MIN_RECORDS_A_READ, Math.floor(maxRecords / waiting.length))
    const served = new Set<Behind>()
    let records = 0
    for (const first of waiting) {
      if (records >= maxRecords || all.deliveries.length >= MAX_ROWS_A_TICK) break
      if (served.has(first)) continue
      const from = first.position.nextOffset
      if (BigInt(from) > context.nextOffset) continue
      const read = await context.readAgain(BigInt(from), atMost)
      records += read.records.length
      const reports = read.records.flatMap(reportOf)
      for (const one of waiting) {
        if (served.has(one) || !canTake(one, from, read.nextOffset)) continue
        served.add(one)
        all.moved.push(movedTo(one, read.nextOffset, context.nextOffset))
        for (const report of reports)
          if (takes(one, report)) all.deliveries.push(deliveryOf(one, report.record, report, createdAt))
      }
    }
  }
  return all
}

function isLiveStream({ replayId }: Behind): boolean {
  return replayId === LIVE_STREAM
}

function isReplay({ replayId }: Behind): boolean {
  return replayId !== LIVE_STREAM
}

/** Returns the positions in the order of the log, from another one on in each round. */
function rotated(behind: readonly Behind[], round: number): readonly Behind[] {
  const sorted = behind.toSorted((one, other) => one.position.nextOffset - other.position.nextOffset)
  const at = sorted.length === 0 ? 0 : round % sorted.length
  return [...sorted.slice(at), ...sorted.slice(0, at)]
}

interface RecordReport extends Report {
  readonly record: Recorded<AnyFormFact>
}

/** Returns nothing for a record that reports nothing, or that an erasure covers. An erasure is always reported. */
function reportOf(record: Recorded<AnyFormFact>): RecordReport | [] {
  if (record.isErased && record.fact.type !== 'QueueErased') return []
  const thin = thinPayloadOf(record.fact)
  return thin ? { record, type: thin.type, body: JSON.stringify(thin) } : []
}

function canTake({ position }: Behind, from: number, to: bigint): boolean {
  return position.nextOffset >= from && (position.nextOffset < to || position.nextOffset === from)
}

/** The live stream follows batches once it is at the checkpoint. */
function movedTo({ position }: Behind, to: bigint, checkpoint: bigint): Position {
  const end = position.endOffset === null ? Number(to) : Math.min(Number(to), position.endOffset)
  return { ...position, nextOffset: end, isLive: position.replayId === LIVE_STREAM && to === checkpoint }
}

function takes({ position, webhook, replay, ...endpoint }: Behind, { record, type }: RecordReport): boolean {
  const { fact, offset } = record
  if (fact.organization !== endpoint.organization || fact.project !== endpoint.project) return false
  if (offset < position.nextOffset || (position.endOffset !== null && offset >= position.endOffset)) return false
  if (!replay) return wants(webhook, type)
  const { events } = replay
  const isWanted = wants(events === null ? webhook : { events: JSON.parse(events) as WebhookEvent[] }, type)
  return isWanted && contains(replay, fact.at)
}

/**
 * Gives deliveries the bodies of kept deliveries of the same record and endpoint, so that each `webhook-id` has one body. `behind`: the
 * positions that the deliveries are of.
 */
export async function reuseBodies(
  db: Db,
  rows: readonly NewDelivery[],
  behind: readonly Behind[],
): Promise<readonly NewDelivery[]> {
  if (rows.length === 0) return rows
  const addedAt = new Map(behind.map((one) => [endpointKeyOf(one), one.webhook.addedAt]))
  const replaysOf = await readReplays(db, behind)
  const siblings = new Map<NewDelivery, readonly string[]>()
  for (const row of rows as readonly (NewDelivery & { type: WebhookEvent })[]) {
    const key = endpointKeyOf(row)
    const others = (replaysOf.get(key) ?? []).filter(
      (replay) => replay.replayId !== row.replayId && mayHave(replay, row),
    )
    const replayIds = [LIVE_STREAM, ...others.slice(0, MAX_SIBLINGS).map((replay) => replay.replayId)]
    siblings.set(
      row,
      replayIds
        .filter((replayId) => replayId !== row.replayId)
        .map((replayId) => deliveryIdOf({ ...row, replayId, addedAt: addedAt.get(key) ?? '' }, row)),
    )
  }
  const ids = new Set([...siblings.values()].flat())
  if (ids.size === 0) return rows
  const kept = await deliveries.select(
    db,
    sql`FROM deliveries WHERE delivery_id = ANY(${[...ids]}::uuid[]) AND capture = '{}'`,
  )
  const bodies = new Map(kept.map(({ deliveryId, body }) => [deliveryId, body]))
  return rows.map((row) => {
    const body = siblings.get(row)?.flatMap((id) => bodies.get(id) ?? [])[0]
    return body === undefined ? row : { ...row, body, capture: [] }
  })
}

/** Returns false for a replay without the record of a delivery. */
function mayHave(
  { fromAt, toAt, events }: Replay,
  { at, type }: { readonly at: string; readonly type: WebhookEvent },
): boolean {
  return (
    contains({ fromAt, toAt }, at) && (events === null || wants({ events: JSON.parse(events) as WebhookEvent[] }, type))
  )
}

function contains({ fromAt, toAt }: Pick<Replay, 'fromAt' | 'toAt'>, at: string): boolean {
  const atMs = Date.parse(at)
  return atMs >= Date.parse(fromAt) && atMs < Date.parse(toAt)
}

/** Reads the replays of the endpoints of positions, the latest first. */
async function readReplays(db: Db, behind: readonly Behind[]): Promise<ReadonlyMap<string, readonly Replay[]>> {
  const refs = new Map(behind.map((one) => [endpointKeyOf(one), one]))
  const columns = ['organization', 'project', 'endpointId'] as const
  const found = await replays.select(db, sql`FROM ${replays.lookUp([...refs.values()], { columns })}`)
  const latestFirst = found.toSorted((one, other) => Date.parse(other.requestedAt) - Date.parse(one.requestedAt))
  return Map.groupBy(latestFirst, endpointKeyOf)
}
