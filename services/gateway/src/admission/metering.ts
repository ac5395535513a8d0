import { setTimeout as sleep } from 'node:timers/promises'
import {
  LeaseAnswer,
  type LeaseQuestion,
  type Reservation,
  ReserveAnswer,
  type ReturnedUnits,
  UsageAnswer,
  type UsageQuery,
} from '@nextvisit/contracts'
import { remainingMs, type ServiceClient, TELLS } from '@nextvisit/service-kit'
import { LRUCache } from 'lru-cache'
import { namesBudgetMs, outlastsRoomLease } from '../http/budget.ts'
import { createRoomLeases, type LeasedUnit } from './room-leases.ts'

const MAX_COUNTED_USERS = 200_000
/** A fold takes some tens of milliseconds. After a few short pauses the fold is late, or never happens: then longer ones. */
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 160

/**
 * What a record gets of a limit. `refused-by-cap`: there is room, but the cap on names refuses the record. `unchecked`:
 * metering did not say in time. `crowded`: the organization asks too much at once.
 */
type Reserved = 'granted' | 'exhausted' | 'refused-by-cap' | 'unchecked' | 'crowded'
/** For whom a reservation was made. */
type ReservedRecord = Pick<Reservation, 'recordId' | 'organization'>
type EventReservation = Extract<Reservation, { kind: 'event' }>
type MauReservation = Extract<Reservation, { kind: 'mau' }>
type CountedUser = Pick<MauReservation, 'userId' | 'month'>

export type Metering = ReturnType<typeof createMetering>

/** Metering: room under limits, and this month's counters. */
export function createMetering({ batched, read, stop }: ServiceClient, requestBudgetMs: number) {
  const keptForNamesMs = namesBudgetMs(requestBudgetMs)
  const mayLease = outlastsRoomLease(requestBudgetMs)
  const counted = new LRUCache<string, true>({ max: MAX_COUNTED_USERS })
  const askReserve = batched({
    route: 'reserve',
    tenantOf,
    bodyOf: (reservations: readonly Reservation[]) => ({ reservations }),
    schema: ReserveAnswer,
    answersOf: ({ verdicts }) => verdicts,
    // A call holds its organizations' locks. A lease, which must come within 250 ms, waits for them.
    maxWeight: 200,
  })
  /**
   * Gives back what a record reserved that certainly was not published. Metering settles by itself what gets lost here.
   * Resolves once it is given back, or at the deadline; never rejects.
   */
  const release = batched({
    route: 'release',
    tenantOf,
    bodyOf: (records: readonly ReservedRecord[]) => ({ recordIds: records.map(({ recordId }) => recordId) }),
    ...TELLS,
  })
  const leases = createRoomLeases({
    ask: batched({
      route: 'lease',
      tenantOf,
      bodyOf: (questions: readonly LeaseQuestion[]) => ({ questions }),
      schema: LeaseAnswer,
      answersOf: ({ granted }) => granted,
      weightOf: (question) => question.leases.length,
    }),
    giveBack: batched({
      route: 'returnLeased',
      tenantOf: (returned: readonly ReturnedUnits[]) => returned[0]?.organization ?? '',
      bodyOf: (returns) => ({ returned: returns.flat() }),
      ...TELLS,
      weightOf: (returned) => returned.length,
    }),
  })

  /**
   * Asks again while the room is only held by records that may yet not count: refused, or not published. When there is no
   * more time to wait the room counts as used up, also where metering is unavailable by then: that there was no room is
   * the last thing known. A record that the cap on names refuses goes on as a dry run: it must not take room from others,
   * and is still refused for the limit first where that is reached (decisions.md, Track event).
   */
  async function reserve(
    reservation: Reservation,
    deadlineAt: number,
    isRefusedByCap: () => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<Reserved> {
    let asked = await askReserve(reservation, deadlineAt)
    if (asked.outcome === 'crowded') {
      void release(reservation) // it may have been granted all the same
      return 'crowded'
    }
    if (asked.outcome === 'unavailable') return 'unchecked'
    let isDryRun = false
    for (let pauseMs = FIRST_PAUSE_MS; asked.answer === 'held'; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      if (reservation.kind === 'event') leases.end(reservation)
      isDryRun ||= await isRefusedByCap()
      if (remainingMs(deadlineAt) <= keptForNamesMs + pauseMs) return 'exhausted'
      await sleep(pauseMs)
      asked = await askReserve(isDryRun ? { ...reservation, dryRun: true } : reservation, deadlineAt)
      if (asked.outcome !== 'answered') {
        void release(reservation) // it may have been granted all the same
        return 'exhausted'
      }
    }
    if (asked.answer === 'room') return 'refused-by-cap'
    return asked.answer === 'exhausted' ? 'exhausted' : 'granted'
  }

  return {
    stop: async () => {
      await leases.stop()
      stop()
    },
    release,
    /** A unit that was leased in advance; if there is none, the event has to reserve its own. */
    takeLeased: (reservation: EventReservation): LeasedUnit | undefined =>
      mayLease ? leases.take(reservation) : undefined,
    reserveEvent: reserve,
    /** Asks nothing for a user that is known to count in the month. */
    reserveMau: async (reservation: MauReservation, deadlineAt: number): Promise<Reserved> =>
      counted.get(keyOf(reservation)) ? 'granted' : reserve(reservation, deadlineAt),
    /** To be called only after the ack of an identify. */
    rememberCounted: (user: CountedUser) => void counted.set(keyOf(user), true),
    readUsage: (query: UsageQuery, deadlineAt: number) => read('readUsage', query, UsageAnswer, deadlineAt),
  }
}

function tenantOf({ organization }: { readonly organization: string }): string {
  return organization
}

function keyOf({ userId, month }: CountedUser): string {
  return `${month}/${userId}`
}
