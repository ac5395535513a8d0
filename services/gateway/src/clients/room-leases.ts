import { randomUUID } from 'node:crypto'
import type { LeaseQuestion, Reservation, ReturnedUnits } from '@nextvisit/contracts'
import type { BatchedCall } from '@nextvisit/service-kit'
import { RELEASE_WITHIN_MS } from './service-client.ts'

/**
 * How long a lease may be used, from before it was asked for. A request that finds only held room asks again for longer
 * than that (`createMetering`), so what a gateway does not use comes back in time.
 */
export const LEASE_MS = 250
/** From one question to the next, or to its answer if that is later. The next lease comes before the last one ends. */
const RENEW_AFTER_MS = 100
/** Metering keeps for a minute what it granted although its answer was lost. */
const RETRY_AFTER_MS = 5_000
/** Fewer events in {@link RENEW_AFTER_MS} are not worth a lease. */
const FEWEST_EVENTS = 8
/** Of one lease. */
const MOST_UNITS = 10_000

export interface RoomLeasesOptions {
  readonly ask: BatchedCall<LeaseQuestion, boolean>
  /** Of one organization. Resolves once they are given back, or at the deadline; never rejects. */
  readonly giveBack: (returned: readonly ReturnedUnits[], deadlineAt: number) => Promise<unknown>
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
interface Lease {
  readonly id: string
  readonly units: number
  spent: number
}

/** The leases of one question. They end together. */
interface Grant {
  readonly of: Month
  readonly limit: number
  readonly endsAt: number
  readonly byPartition: ReadonlyMap<number, Lease>
  /** Since nothing is spent of it any more; resolves when the rest is given back. */
  ended?: Promise<unknown>
}

/** An organization's month while its events come. */
interface Account {
  readonly of: Month
  limit: number
  /** By partition, since `countedSince`. */
  events: Map<number, number>
  /** What to expect by partition: as many as came lately, or half as many as were expected before. */
  expected: ReadonlyMap<number, number>
  countedSince: number
  grant?: Grant
  renewing?: Promise<void>
  timer?: NodeJS.Timeout
}

export type RoomLeases = ReturnType<typeof createRoomLeases>

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
    if (grant.ended || grant.limit !== limit || performance.now() >= grant.endsAt) return undefined
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
    const account: Account = { of, limit: 0, events: new Map(), expected: new Map(), countedSince: performance.now() }
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
    expectEvents(account)
    if (account.expected.size === 0) {
      accounts.delete(keyOf(account.of))
      return
    }
    const wanted = leasesFor(account.expected)
    const isAnswered = wanted === undefined || (await askFor(account, wanted))
    const sinceAskedMs = performance.now() - account.countedSince
    renewAfter(account, isAnswered ? Math.max(0, RENEW_AFTER_MS - sinceAskedMs) : RETRY_AFTER_MS)
  }

  /** Whether metering answered. */
  async function askFor(account: Account, byPartition: ReadonlyMap<number, Lease>): Promise<boolean> {
    const { of, limit } = account
    const askedAt = performance.now()
    const grant: Grant = { of, limit, endsAt: askedAt + LEASE_MS, byPartition }
    const leases = Array.from(byPartition, ([partition, { id, units }]) => ({ lease: id, partition, units }))
    const asked = await ask({ ...of, limit, leases }, askedAt + RELEASE_WITHIN_MS)
    const isAnswered = asked.outcome === 'answered'
    if (isAnswered && !asked.answer) return true
    // Where no answer came, it may have been granted all the same.
    if (!isAnswered || isStopped) await end(grant)
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
  async function giveBackUnspent(of: Month, leases: readonly Lease[], deadlineAt?: number): Promise<void> {
    const returned = leases.map(({ id, units, spent }) => ({ ...of, lease: id, units: units - spent }))
    const unspent = returned.filter(({ units }) => units > 0)
    if (unspent.length > 0) await giveBack(unspent, deadlineAt ?? performance.now() + RELEASE_WITHIN_MS)
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
      for (const { timer, renewing, grant } of accounts.values()) {
        clearTimeout(timer)
        await Promise.all([renewing, grant && end(grant)])
      }
    },
  }
}

/** Begins to count anew. */
function expectEvents(account: Account): void {
  const { events, expected, countedSince } = account
  account.events = new Map()
  account.countedSince = performance.now()
  const share = Math.min(1, RENEW_AFTER_MS / (account.countedSince - countedSince))
  const expect = (partition: number): number =>
    Math.max((events.get(partition) ?? 0) * share, (expected.get(partition) ?? 0) / 2)
  const partitions = new Set([...events.keys(), ...expected.keys()])
  const all = Array.from(partitions, (partition) => [partition, expect(partition)] as const)
  account.expected = new Map(all.filter(([, count]) => count > 0.1))
}

/** Of more than twice as many units as events are expected: a lease lasts longer, and events do not come evenly. */
function leasesFor(expected: Account['expected']): ReadonlyMap<number, Lease> | undefined {
  const total = [...expected.values()].reduce((sum, count) => sum + count, 0)
  if (total < FEWEST_EVENTS) return undefined
  return new Map(Array.from(expected, ([partition, count]) => [partition, leaseFor(count)]))
}

function leaseFor(events: number): Lease {
  return { id: randomUUID(), units: Math.min(MOST_UNITS, Math.ceil(2 * events) + 2), spent: 0 }
}

function keyOf({ organization, month }: Month): string {
  return `${organization}/${month}`
}
