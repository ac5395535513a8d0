import type { meteringCalls, Reservation } from '@nextvisit/contracts'
import { createBatchedCall, remainingMs, type ServiceClient } from '@nextvisit/service-kit'
import { LRUCache } from 'lru-cache'
import { namesBudgetMs, outlastsRoomLease } from '../http/request-budget.ts'
import { createRoomLeases } from './room-leases.ts'
import { type Release, type Reserved, verdictOf } from './verdicts.ts'

const MAX_COUNTED_USERS = 200_000
/** A fold takes some tens of milliseconds. Pauses double, since a fold that takes longer may never happen. */
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 160

type MauReservation = Extract<Reservation, { kind: 'mau' }>
type CountedUser = Pick<MauReservation, 'userId' | 'month'>

export type Metering = ReturnType<typeof createMetering>

/** Admission's questions to metering: room under limits. */
export function createMetering(
  { admission }: Pick<ServiceClient<typeof meteringCalls>, 'admission'>,
  requestBudgetMs: number,
) {
  const keptForNamesMs = namesBudgetMs(requestBudgetMs)
  const mayLease = outlastsRoomLease(requestBudgetMs)
  const counted = new LRUCache<string, true>({ max: MAX_COUNTED_USERS })
  // A call holds the locks of its organizations. Leases, which must arrive within 250 ms, wait for them.
  const askReserve = createBatchedCall(admission.reserve, { tenantOf, maxWeight: 200 })
  const askRelease = createBatchedCall(admission.release, { tenantOf })
  const leases = createRoomLeases({
    ask: createBatchedCall(admission.lease, { tenantOf, weightOf: (question) => question.leases.length }),
    giveBack: createBatchedCall(admission.returnLeased, {
      tenantOf: ([first]) => first?.organization ?? '',
      weightOf: (returned) => returned.length,
    }),
  })

  /**
   * Returns the release of the reservation of a record that certainly was not published. If the call is lost, metering expires the
   * reservation. Resolves once it is given back, or at the deadline; never rejects.
   */
  const releaseOf =
    ({ organization, recordId }: Reservation): Release =>
    (deadlineAt) =>
      askRelease({ organization, recordId }, deadlineAt)

  /**
   * Reserves room. While records that may yet be released hold it, asks again until the time is up; then the room
   * counts as used up, even if metering is unavailable by then. A record that the cap on names refuses continues as a
   * dry run: it takes no room from others, and an exhausted limit is still reported first (decisions.md, Track event).
   */
  async function reserve(
    reservation: Reservation,
    deadlineAt: number,
    isRefusedByCap: () => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<Reserved> {
    const release = releaseOf(reservation)
    let verdict = verdictOf(await askReserve(reservation, deadlineAt))
    if (verdict === 'crowded') void release() // metering may have granted it
    let isDryRun = false
    for (let pauseMs = FIRST_PAUSE_MS; verdict === 'held'; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      if (reservation.kind === 'event') leases.end(reservation)
      isDryRun ||= await isRefusedByCap()
      if (remainingMs(deadlineAt) <= keptForNamesMs + pauseMs) return { verdict: 'no-room', release }
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      verdict = verdictOf(await askReserve(isDryRun ? { ...reservation, dryRun: true } : reservation, deadlineAt))
      if (verdict === 'unchecked' || verdict === 'crowded') {
        void release() // metering may have granted it
        verdict = 'no-room'
      }
    }
    return { verdict, release }
  }

  return {
    stop: leases.stop,
    /** Takes a unit that was leased in advance. Without one, the event reserves its own. */
    takeLeased: (reservation: Extract<Reservation, { kind: 'event' }>): Reserved | undefined =>
      mayLease ? leases.take(reservation) : undefined,
    reserveEvent: reserve,
    /** Reserves an active user. A user who is known to count in the month needs no call. */
    reserveMau: async (reservation: MauReservation, deadlineAt: number): Promise<Reserved> =>
      counted.get(keyOf(reservation))
        ? { verdict: 'counted', release: releaseOf(reservation) }
        : reserve(reservation, deadlineAt),
    /** Caches that a user counts in the month. Call it only after the ack of an identify. */
    rememberCounted: (user: CountedUser) => void counted.set(keyOf(user), true),
  }
}

function tenantOf({ organization }: { readonly organization: string }): string {
  return organization
}

function keyOf({ userId, month }: CountedUser): string {
  return `${month}/${userId}`
}
