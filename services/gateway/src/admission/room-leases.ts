import { randomUUID } from 'node:crypto'
import type { LeaseQuestion, Reservation, ReturnedUnits } from '@nextvisit/contracts'
import type { BatchedCall } from '@nextvisit/service-kit'
import { ROOM_LEASE_MS } from '../http/budget.ts'
import { type EventForecast, FORECAST_MS, forecastEvents, unitsToLease } from './event-forecast.ts'

/** From one question to the next, or to its answer if that is later. The next lease comes before the last one ends. */
const RENEW_AFTER_MS = FORECAST_MS
/** Where no answer came: metering keeps for a minute what it granted and nobody gives back. */
const RETRY_AFTER_MS = 5_000

interface RoomLeasesOptions {
  /** No request waits for either: without a deadline they have one of their own. */
  readonly ask: BatchedCall<LeaseQuestion, boolean>
  /** Of one organization. Resolves once they are given back, or at the deadline; never rejects. */
  readonly giveBack: (returned: ReturnedUnits[], deadlineAt?: number) => Promise<unknown>
}

/** One unit of a lease, for one record. */
export interface LeasedUnit {
  readonly lease: string
  /** To be called at most once, and only if the record certainly is not published. */
  readonly giveBack: (deadlineAt?: number) => Promise<void>
}

/** Whose room: an organization's of a month. */
type Month = Pick<Reservation, 'organization' | 'month'>
type Wanted = Month & Pick<Reservation, 'limit' | 'partition'>

/** Units for the events of one partition: a row in metering. */
interface RoomLease {
  readonly id: string
  readonly units: number
  spent: number
}

/** The leases of one question. They end together. */
interface Grant {
  readonly of: Month
  readonly limit: number
  /** By the monotonic clock: the other one may be set back. */
  readonly endsAt: number
  /** By the wall clock: the other one may stand still while the machine is suspended. */
  readonly endsAtWallMs: number
  readonly byPartition: ReadonlyMap<number, RoomLease>
  /** Since nothing is spent of it any more; resolves when the rest is given back. */
  ended?: Promise<unknown>
}

/** An organization's month while its events come. */
interface Account {
  readonly of: Month
  limit: number
  /** By partition, since `countedSince`. */
  events: Map<number, number>
  forecast: EventForecast
  countedSince: number
  grant?: Grant
  renewing?: Promise<void>
  timer?: NodeJS.Timeout
}

/**
 * Room under the event limits of busy organizations, leased from metering in advance, so that an event need not ask for
 * itself (docs/decisions/0017). A unit is spent by one record. What is not spent when a lease ends is given back.
 */
export function createRoomLeases({ ask, giveBack }: RoomLeasesOptions) {
  const accounts = new Map<string, Account>()
  let isStopped = false

  /** A unit for an event, if one is leased under this limit. Asks nothing: that events come is what leads to a lease. */
  function take({ limit, partition, ...of }: Wanted): LeasedUnit | undefined {
    const account = accounts.get(keyOf(of)) ?? open(of)
    account.limit = limit
    account.events.set(partition, (account.events.get(partition) ?? 0) + 1)
    const { grant } = account
    const lease = grant?.byPartition.get(partition)
    if (!grant || !lease || lease.spent === lease.units) return undefined
    if (grant.ended || grant.limit !== limit || isOver(grant)) return undefined
    lease.spent += 1
    return {
      lease: lease.id,
      giveBack: async (deadlineAt) => {
        lease.spent -= 1
        if (grant.ended) await giveBackUnspent(grant.of, [lease], deadlineAt)
      },
    }
  }

  function open({ organization, month }: Month): Account {
    const of = { organization, month }
    const account: Account = { of, limit: 0, events: new Map(), forecast: new Map(), countedSince: performance.now() }
    accounts.set(keyOf(of), account)
    renewAfter(account, RENEW_AFTER_MS)
    return account
  }

  function renewAfter(account: Account, ms: number): void {
    if (isStopped) return
    account.timer = setTimeout(() => void (account.renewing = renew(account)), ms).unref()
  }

  /** Leases anew, as long as events come. */
  async function renew(account: Account): Promise<void> {
    const askedAt = performance.now()
    account.forecast = forecastEvents(account.forecast, account.events, askedAt - account.countedSince)
    account.events = new Map()
    account.countedSince = askedAt
    if (account.forecast.size === 0) {
      accounts.delete(keyOf(account.of))
      return
    }
    const unitsOf = unitsToLease(account.forecast)
    const isAnswered = unitsOf.size === 0 || (await askFor(account, unitsOf))
    const sinceAskedMs = performance.now() - askedAt
    const isLate = sinceAskedMs >= ROOM_LEASE_MS
    const pauseMs = isLate ? RENEW_AFTER_MS : Math.max(0, RENEW_AFTER_MS - sinceAskedMs)
    renewAfter(account, isAnswered ? pauseMs : RETRY_AFTER_MS)
  }

  /**
   * Whether metering answered. Also a late answer leads to the next question: it is late because many events ask for
   * themselves, and so they do until there is a lease.
   */
  async function askFor(account: Account, unitsOf: ReadonlyMap<number, number>): Promise<boolean> {
    const grant = grantOf(account, unitsOf)
    const leases = Array.from(grant.byPartition, ([partition, { id, units }]) => ({ lease: id, partition, units }))
    const asked = await ask({ ...grant.of, limit: grant.limit, leases })
    const isAnswered = asked.outcome === 'answered'
    if (isAnswered && !asked.answer) return true
    // Where no answer came, it may have been granted all the same.
    if (!isAnswered || isOver(grant) || isStopped) await end(grant)
    else begin(account, grant)
    return isAnswered
  }

  function begin(account: Account, grant: Grant): void {
    if (account.grant) void end(account.grant)
    account.grant = grant
    setTimeout(() => void end(grant), grant.endsAt - performance.now()).unref()
  }

  /** Nothing is spent of it from now on. */
  function end(grant: Grant): Promise<unknown> {
    return (grant.ended ??= giveBackUnspent(grant.of, [...grant.byPartition.values()]))
  }

  /** Says how much of leases that have ended is not spent, with what was given back before. */
  async function giveBackUnspent(of: Month, leases: readonly RoomLease[], deadlineAt?: number): Promise<void> {
    const returned = leases.map(({ id, units, spent }) => ({ ...of, lease: id, units: units - spent }))
    const unspent = returned.filter(({ units }) => units > 0)
    if (unspent.length > 0) await giveBack(unspent, deadlineAt)
  }

  return {
    take,
    /** Ends what is leased now: others wait for the room. */
    end: (of: Month): void => {
      const grant = accounts.get(keyOf(of))?.grant
      if (grant) void end(grant)
    },
    /** Resolves once everything is given back. */
    stop: async (): Promise<void> => {
      isStopped = true
      const all = [...accounts.values()]
      for (const { timer } of all) clearTimeout(timer)
      await Promise.all(all.map(({ renewing, grant }) => Promise.all([renewing, grant && end(grant)])))
    },
  }
}

/** What is asked for now. */
function grantOf({ of, limit }: Account, unitsOf: ReadonlyMap<number, number>): Grant {
  const byPartition = new Map(Array.from(unitsOf, ([partition, units]) => [partition, leaseOf(units)]))
  return { of, limit, byPartition, endsAt: performance.now() + ROOM_LEASE_MS, endsAtWallMs: Date.now() + ROOM_LEASE_MS }
}

function leaseOf(units: number): RoomLease {
  return { id: randomUUID(), units, spent: 0 }
}

function isOver({ endsAt, endsAtWallMs }: Grant): boolean {
  return performance.now() >= endsAt || Date.now() >= endsAtWallMs
}

function keyOf({ organization, month }: Month): string {
  return `${organization}/${month}`
}
