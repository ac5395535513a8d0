import { performance } from 'node:perf_hooks'
import { eventually } from '@nextvisit/testing/black-box'
import type { CampaignStack } from './campaign-stack.ts'
import { queryRows } from './query-rows.ts'
import { readLog } from './read-log.ts'

/** What nobody folds or gives back is dropped after a minute, at the next tick. */
const FREE_WITHIN_MS = 90_000

/** An organization's room under its limit of events, in metering. */
export interface Room {
  /** Events that are folded. */
  readonly counted: number
  /** Units that are reserved, by the rows of reservations and leases. */
  readonly reserved: number
  /** Those of leases. */
  readonly leased: number
  /** Units that are reserved, by the sums in the counters. */
  readonly summed: number
}

/** Throws if Postgres is unavailable. */
export async function roomOf(stack: CampaignStack, organization: string): Promise<Room> {
  const of = `WHERE organization = '${organization}' AND kind = 'event'`
  const [row] = await queryRows<Room>(
    stack,
    'metering',
    `SELECT
       (SELECT coalesce(sum(count), 0)::int FROM counters ${of}) AS counted,
       (SELECT coalesce(sum(units), 0)::int FROM reservations ${of}) AS reserved,
       (SELECT coalesce(sum(units), 0)::int FROM reservations ${of} AND holders = '{}') AS leased,
       (SELECT coalesce(sum(units), 0)::int FROM reserved_room ${of})
         - (SELECT coalesce(sum(fulfilled), 0)::int FROM counters ${of}) AS summed`,
  )
  if (!row) throw new Error('Metering answered no row')
  return row
}

/** How long it takes until nothing is reserved any more; after a time limit, more than that. */
export async function untilRoomIsFree(stack: CampaignStack, organization: string): Promise<number> {
  const since = performance.now()
  await eventually(
    () => roomOf(stack, organization),
    ({ reserved, summed }) => reserved === 0 && summed === 0,
    FREE_WITHIN_MS,
  )
  return performance.now() - since
}

/** What a record says about the limit of events. */
export interface TrackedEvent {
  readonly id: string
  /** The lease whose unit it used. */
  readonly lease?: string
  /** Limits that were not checked. */
  readonly unchecked: readonly string[]
}

/** The organization's tracked events, as they are in the log. */
export async function trackedEventsOf(stack: CampaignStack, organization: string): Promise<TrackedEvent[]> {
  const isTracked = (value: Buffer): boolean =>
    value.includes(`"organization":"${organization}"`) && value.includes('"type":"EventTracked"')
  const records = await readLog(stack, isTracked)
  return records.map(({ value }) => JSON.parse(String(value)) as TrackedEvent)
}
