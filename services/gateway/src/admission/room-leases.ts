import { randomUUID } from 'node:crypto'
import type { LeaseQuestion, Reservation, ReturnedUnits } from '@nextvisit/contracts'
import type { BatchedCall } from '@nextvisit/service-kit'
import { ROOM_LEASE_MS } from '../http/request-budget.ts'
import { FORECAST_MS, forecastEvents, unitsToLease } from './event-forecast.ts'
import type { Reserved } from './verdicts.ts'

/** Interval between questions in ms. A lease lasts longer, so the next one starts before it ends. */
const RENEW_AFTER_MS = FORECAST_MS
/** Pause after an unanswered question in ms. Metering keeps an unused grant for a minute. */
const RETRY_AFTER_MS = 5_000

interface RoomLeasesOptions {
  /** Asks for leases. No request waits for it, so it has a deadline of its own. */
  readonly ask: BatchedCall<LeaseQuestion, boolean>
  /** Gives back units of one organization. Resolves once that is done, or at the deadline; never rejects. */
  readonly giveBack: (returned: ReturnedUnits[], deadlineAt?: number) => Promise<unknown>
}

/** The month of an organization that room belongs to. */
type Month = Pick<Reservation, 'organization' | 'month'>

/** Units for the events of one partition: one row in metering. */
interface RoomLease {
  readonly id: string
  readonly units: number
  spent: number
}

/** The leases of one question, which end together. */
interface Grant {
  readonly of: Month
  readonly limit: number
  /** End by the monotonic clock, since the wall clock may be set back. */
  readonly endsAt: number
  /** End by the wall clock, since the monotonic clock may stop while the machine is suspended. */
  readonly endsAtWallMs: number
  readonly byPartition: ReadonlyMap<number, RoomLease>
  /** Set once the grant has ended; resolves when its unused units are given back. */
  ended?: Promise<unknown>
}

/** The month of an organization that has events now. */
interface Account {
  readonly of: Month
  limit: number
  /** Events since `countedSince`, by partition. */
  events: Map<number, number>
  /** Expected events, by partition. */
  forecast: ReadonlyMap<number, number>
  countedSince: number
  grant?: Grant
  renewing?: Promise<void>
  timer?: NodeJS.Timeout
}

/**
 * Leases room under the event limits of busy organizations in advance, so that their events need no call of their own
 * (docs/decisions/0017). A record spends one unit. Unused units are given back when the lease ends.
 */
export function createRoomLeases({ ask, giveBack }: RoomLeasesOptions) {
  const accounts = new Map<string, Account>()
  let isStopped = false

  /** Takes a leased unit for an event, if there is one. Taking also counts the event for the forecast. */
  function take({ limit, partition, ...of }: Month & Pick<Reservation, 'limit' | 'partition'>): Reserved | undefined {
    const account = accounts.get(keyOf(of)) ?? open(of)
    account.limit = limit
    account.events.set(partition, (account.events.get(partition) ?? 0) + 1)
    const { grant } = account
    const lease = grant?.byPartition.get(partition)
    if (!grant || !lease || lease.spent === lease.units) return undefined
    if (grant.ended || grant.limit !== limit || isOver(grant)) return undefined
    lease.spent += 1
    return {
      verdict: 'granted',
      lease: lease.id,
      release: async (deadlineAt) => {
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

  /** Leases again, as long as the organization has events. */
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
   * Asks for leases. Returns true if metering answered, even late: the calls of single events delay the answer, and
   * only a lease ends those.
   */
  async function askFor(account: Account, unitsOf: ReadonlyMap<number, number>): Promise<boolean> {
    const grant = grantOf(account, unitsOf)
    const leases = Array.from(grant.byPartition, ([partition, { id, units }]) => ({ lease: id, partition, units }))
    const asked = await ask({ ...grant.of, limit: grant.limit, leases })
    const isAnswered = asked.outcome === 'answered'
    if (isAnswered && !asked.answer) return true
    // Metering may have granted an unanswered question.
    if (!isAnswered || isOver(grant) || isStopped) await end(grant)
    else begin(account, grant)
    return isAnswered
  }

  function begin(account: Account, grant: Grant): void {
    if (account.grant) void end(account.grant)
    account.grant = grant
    setTimeout(() => void end(grant), grant.endsAt - performance.now()).unref()
  }

  /** Ends a grant: no unit of it is spent from now on. */
  function end(grant: Grant): Promise<unknown> {
    return (grant.ended ??= giveBackUnspent(grant.of, [...grant.byPartition.values()]))
  }

  /** Reports the unused units of ended leases, including units that were given back before. */
  async function giveBackUnspent(of: Month, leases: readonly RoomLease[], deadlineAt?: number): Promise<void> {
    const returned = leases.map(({ id, units, spent }) => ({ ...of, lease: id, units: units - spent }))
    const unspent = returned.filter(({ units }) => units > 0)
    if (unspent.length > 0) await giveBack(unspent, deadlineAt)
  }

  return {
    take,
    /** Ends the current grant, because others wait for its room. */
    end: (of: Month): void => {
      const grant = accounts.get(keyOf(of))?.grant
      if (grant) void end(grant)
    },
    /** Ends all leases. Resolves once their units are given back. */
    stop: async (): Promise<void> => {
      isStopped = true
      const all = [...accounts.values()]
      for (const { timer } of all) clearTimeout(timer)
      await Promise.all(all.map(({ renewing, grant }) => Promise.all([renewing, grant && end(grant)])))
    },
  }
}

/** Returns the grant that is in effect if metering agrees. */
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
