import { randomUUID } from 'node:crypto'
import type { LeaseQuestion, Reservation, ReturnedUnits } from '@nextvisit/contracts'
import type { BatchedCall } from '@nextvisit/service-kit'
import { ROOM_LEASE_MS } from './admission-budget.ts'
import { createEventForecast, FORECAST_MS, unitsToLease } from './event-forecast.ts'
import type { Reserved } from './verdicts.ts'

/** Interval between questions in ms. A lease lasts longer, so the next one starts before it ends. */
const RENEW_AFTER_MS = FORECAST_MS
/** Pause after an unanswered question in ms. Metering keeps an unanswered lease for a minute. */
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
interface Leases {
  readonly of: Month
  readonly limit: number
  /** End by the monotonic clock, since the wall clock may be set back. */
  readonly endsAt: number
  /** End by the wall clock, since the monotonic clock may stop while the machine is suspended. */
  readonly endsAtWallMs: number
  readonly byPartition: ReadonlyMap<number, RoomLease>
  /** Set once the leases have ended; resolves when their unspent units are given back. */
  ended?: Promise<unknown>
}

/** The month of an organization that has events now. */
interface Account {
  readonly of: Month
  readonly forecast: ReturnType<typeof createEventForecast>
  limit: number
  leases?: Leases
  renewing?: Promise<void>
  timer?: NodeJS.Timeout
}

/**
 * Leases room under the event limits of busy organizations in advance, so that their events need no call of their own
 * (docs/decisions/0017). A record spends one unit. Unspent units are given back when the lease ends.
 */
export function createRoomLeases({ ask, giveBack }: RoomLeasesOptions) {
  const accounts = new Map<string, Account>()
  let isStopped = false

  /** Takes a leased unit for an event, if there is one. Taking also counts the event for the forecast. */
  function take({ limit, partition, ...of }: Month & Pick<Reservation, 'limit' | 'partition'>): Reserved | undefined {
    const account = accounts.get(keyOf(of)) ?? open(of)
    account.limit = limit
    account.forecast.count(partition)
    const { leases } = account
    const lease = leases?.byPartition.get(partition)
    if (!leases || !lease || lease.spent === lease.units) return undefined
    if (leases.ended || leases.limit !== limit || isOver(leases)) return undefined
    lease.spent += 1
    return {
      verdict: 'granted',
      lease: lease.id,
      release: async (deadlineAt) => {
        lease.spent -= 1
        if (leases.ended) await giveBackUnspent(leases.of, [lease], deadlineAt)
      },
    }
  }

  function open({ organization, month }: Month): Account {
    const account: Account = { of: { organization, month }, limit: 0, forecast: createEventForecast() }
    accounts.set(keyOf(account.of), account)
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
    const forecast = account.forecast.next()
    if (forecast.size === 0) {
      accounts.delete(keyOf(account.of))
      return
    }
    const unitsOf = unitsToLease(forecast)
    const isAnswered = unitsOf.size === 0 || (await askFor(account, unitsOf))
    renewAfter(account, isAnswered ? pauseAfter(performance.now() - askedAt) : RETRY_AFTER_MS)
  }

  /**
   * Asks for leases. Returns true if metering answered, even late: the calls of single events delay the answer, and
   * only a lease ends those.
   */
  async function askFor(account: Account, unitsOf: ReadonlyMap<number, number>): Promise<boolean> {
    const leases = leasesOf(account, unitsOf)
    const question = Array.from(leases.byPartition, ([partition, { id, units }]) => ({ lease: id, partition, units }))
    const asked = await ask({ ...leases.of, limit: leases.limit, leases: question })
    const isAnswered = asked.outcome === 'answered'
    if (isAnswered && !asked.answer) return true
    // Metering may have granted an unanswered question.
    if (!isAnswered || isOver(leases) || isStopped) await end(leases)
    else begin(account, leases)
    return isAnswered
  }

  function begin(account: Account, leases: Leases): void {
    if (account.leases) void end(account.leases)
    account.leases = leases
    setTimeout(() => void end(leases), leases.endsAt - performance.now()).unref()
  }

  /** Ends leases: none of their units is spent from now on. */
  function end(leases: Leases): Promise<unknown> {
    return (leases.ended ??= giveBackUnspent(leases.of, [...leases.byPartition.values()]))
  }

  /** Reports the unspent units of ended leases, including units that were given back before. */
  async function giveBackUnspent(of: Month, leases: readonly RoomLease[], deadlineAt?: number): Promise<void> {
    const returned = leases.map(({ id, units, spent }) => ({ ...of, lease: id, units: units - spent }))
    const unspent = returned.filter(({ units }) => units > 0)
    if (unspent.length > 0) await giveBack(unspent, deadlineAt)
  }

  return {
    take,
    /** Ends the current leases, because others wait for their room. */
    end: (of: Month): void => {
      const leases = accounts.get(keyOf(of))?.leases
      if (leases) void end(leases)
    },
    /** Ends all leases. Resolves once their units are given back. */
    stop: async (): Promise<void> => {
      isStopped = true
      const all = [...accounts.values()]
      for (const { timer } of all) clearTimeout(timer)
      await Promise.all(all.map(({ renewing, leases }) => Promise.all([renewing, leases && end(leases)])))
    },
  }
}

/** Returns the pause after an answer, so that the next leases begin before these end. */
function pauseAfter(sinceAskedMs: number): number {
  const isLate = sinceAskedMs >= ROOM_LEASE_MS
  return isLate ? RENEW_AFTER_MS : Math.max(0, RENEW_AFTER_MS - sinceAskedMs)
}

/** Returns the leases that are in effect if metering agrees. */
function leasesOf({ of, limit }: Account, unitsOf: ReadonlyMap<number, number>): Leases {
  const byPartition = new Map(
    Array.from(unitsOf, ([partition, units]) => [partition, { id: randomUUID(), units, spent: 0 }]),
  )
  return { of, limit, byPartition, endsAt: performance.now() + ROOM_LEASE_MS, endsAtWallMs: Date.now() + ROOM_LEASE_MS }
}

function isOver({ endsAt, endsAtWallMs }: Leases): boolean {
  return performance.now() >= endsAt || Date.now() >= endsAtWallMs
}

function keyOf({ organization, month }: Month): string {
  return `${organization}/${month}`
}
