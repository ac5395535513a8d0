import type { meteringCalls, Reservation } from '@nextvisit/contracts'
import { createBatchedCall, remainingMs, type ServiceClient } from '@nextvisit/service-kit'
import { LRUCache } from 'lru-cache'
import { namesBudgetMs, outlastsRoomLease, silentAfterMs } from './admission-budget.ts'
import { createRoomLeases } from './room-leases.ts'
import { type Release, type Reserved, verdictOf } from './verdicts.ts'

const MAX_COUNTED_USERS = 200_000
/** A fold takes some tens of milliseconds. Pauses double, since a fold that takes longer may never happen. */
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 160

interface ReserveOptions {
  /** Returns true if the record's name is over its cap. */
  readonly isRefusedByCap?: (() => Promise<boolean>) | undefined
  /** Of the request that waits. */
  readonly traceparent?: string
}

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
  const askReserve = createBatchedCall(admission.reserve, {
    tenantOf,
    firstWeight: 10,
    maxWeight: 200,
    silentAfterMs: silentAfterMs(requestBudgetMs),
  })
  const askRelease = createBatchedCall(admission.release, { tenantOf })
  const leases = createRoomLeases({
    ask: createBatchedCall(admission.lease, { tenantOf, weightOf: (question) => question.leases.length }),
    giveBack: createBatchedCall(admission.returnLeased, {
      tenantOf: ([first]) => first?.organization ?? '',
      weightOf: (returned) => returned.length,
    }),
  })

  /**
   * Returns the release of a reservation, for a record that is known not to be in the log. If the call is lost, metering
   * expires the reservation. Resolves once it is given back, or at the deadline; never rejects.
   */
  const releaseOf =
    ({ organization, recordId }: Reservation): Release =>
    (deadlineAt) =>
      askRelease({ organization, recordId }, deadlineAt)

  /**
   * Takes room without a call: a unit that was leased in advance, or the unit of a user who counts in the month already.
   * Returns undefined if metering must be asked.
   */
  function take(reservation: Reservation): Reserved | undefined {
    if (reservation.kind === 'event') return mayLease ? leases.take(reservation) : undefined
    const { userId, month } = reservation
    const isCounted = userId !== undefined && counted.get(keyOf(userId, month))
    return isCounted ? { verdict: 'counted', release: releaseOf(reservation) } : undefined
  }

  /**
   * Reserves room. Room that records hold which may yet be released counts as used up when the time is up, even if
   * metering is unavailable by then.
   */
  async function reserve(
    reservation: Reservation,
    deadlineAt: number,
    options: ReserveOptions = {},
  ): Promise<Reserved> {
    const release = releaseOf(reservation)
    const first = verdictOf(await askReserve(reservation, deadlineAt, options.traceparent))
    const verdict = first === 'held' ? await askUntilNotHeld(reservation, deadlineAt, options) : first
    const isRefused = verdict === 'crowded' || (verdict === 'unchecked' && first === 'held')
    // Metering may have granted a question that it did not answer in time.
    if (isRefused) void release()
    return { verdict: isRefused && first === 'held' ? 'no-room' : verdict, release }
  }

  /**
   * Asks again, with pauses, until the room is granted, used up, or the time is up. An event that the cap on names
   * refuses continues as a dry run: it takes no room from others, and an exhausted limit is still reported first
   * (decisions.md, Track event).
   */
  async function askUntilNotHeld(
    reservation: Reservation,
    deadlineAt: number,
    { isRefusedByCap, traceparent }: ReserveOptions,
  ): Promise<Reserved['verdict']> {
    let question = reservation
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      if (question.kind === 'event') leases.end(question)
      if (!question.dryRun && (await isRefusedByCap?.())) question = { ...question, dryRun: true }
      if (remainingMs(deadlineAt) <= keptForNamesMs + pauseMs) return 'no-room'
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      const verdict = verdictOf(await askReserve(question, deadlineAt, traceparent))
      if (verdict !== 'held') return verdict
    }
  }

  return {
    stop: leases.stop,
    take,
    reserve,
    /** Caches that a user counts in the month. Call it only after the ack of an identify. */
    rememberCounted: (userId: string, month: string) => void counted.set(keyOf(userId, month), true),
  }
}

function tenantOf({ organization }: { readonly organization: string }): string {
  return organization
}

function keyOf(userId: string, month: string): string {
  return `${month}/${userId}`
}
