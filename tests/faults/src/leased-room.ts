import { performance } from 'node:perf_hooks'
import { eventually } from '@nextvisit/testing/black-box'
import type { CampaignStack } from './campaign-stack.ts'
import { queryRows } from './query-rows.ts'
import { readMessages } from './read-messages.ts'

/** Metering drops a reservation that is neither folded nor released after a minute, at the next tick. */
const FREE_WITHIN_MS = 90_000

/** An organization's room under its event limit, in metering. */
interface Room {
  /** Folded events. */
  readonly counted: number
  /** Reserved units, by the rows of reservations and leases. */
  readonly reserved: number
  /** Reserved units of leases. */
  readonly leased: number
  /** Reserved units, by the sums in the counters. */
  readonly summed: number
}

/** Reads the room of an organization. Throws if Postgres is unavailable. */
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

/** Measures the time until no unit is reserved, in ms. After the time limit, it returns more than the limit. */
export async function untilRoomIsFree(stack: CampaignStack, organization: string): Promise<number> {
  const since = performance.now()
  await eventually(
    () => roomOf(stack, organization),
    ({ reserved, summed }) => reserved === 0 && summed === 0,
    FREE_WITHIN_MS,
  )
  return performance.now() - since
}

/** A tracked event with the record's information about the event limit. */
interface TrackedEvent {
  readonly id: string
  /** The lease that the event used. */
  readonly lease?: string
  /** Limits that were not checked. */
  readonly unchecked: readonly string[]
}

/** Reads the organization's tracked events from the log. */
export async function trackedEventsOf(stack: CampaignStack, organization: string): Promise<TrackedEvent[]> {
  const isTracked = (value: Buffer): boolean =>
    value.includes(`"organization":"${organization}"`) && value.includes('"type":"EventTracked"')
  const records = await readMessages(stack, isTracked)
  return records.map(({ value }) => JSON.parse(String(value)) as TrackedEvent)
}
