import { setTimeout as sleep } from 'node:timers/promises'
import type { Reservation, ReserveVerdict } from '@nextvisit/contracts'
import { LRUCache } from 'lru-cache'
import { remainingMs } from '../budget.ts'
import type { BatchedCall } from './batched-call.ts'

const MAX_COUNTED_USERS = 200_000
const RELEASE_WITHIN_MS = 5_000
/** A fold takes some tens of milliseconds. Longer pauses for who goes on waiting: then a fold is late, or never comes. */
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 160
/** Of the time for admission, what asking for names is left with by who waited for room. */
const KEPT_FOR_NAMES_MS = 400

/** What a record may draw on a limit with. `unchecked`: metering could not say in time. */
export type Reserved = 'granted' | 'exhausted' | 'unchecked'
type MauReservation = Extract<Reservation, { kind: 'mau' }>
type CountedUser = Pick<MauReservation, 'userId' | 'month'>
type EventReservation = Extract<Reservation, { kind: 'event' }>

export interface Reservations {
  /** `no-use`: there was no room at first, and when there was some, `isHopeless` had said that the record has no use for it. */
  readonly reserveEvent: (
    reservation: EventReservation,
    deadlineAt: number,
    isHopeless: () => Promise<boolean>,
  ) => Promise<Reserved | 'no-use'>
  /** Asks nothing for a user that is known to count this month. */
  readonly reserveMau: (reservation: MauReservation, deadlineAt: number) => Promise<Reserved>
  /** To be called only after the ack of an identify. */
  readonly rememberCounted: (user: CountedUser) => void
  /**
   * Gives back what a record reserved that certainly was not published. What gets lost, metering settles by itself.
   * Resolves once it is given back, or at the deadline; never rejects.
   */
  readonly release: (recordId: string, deadlineAt?: number) => Promise<void>
}

export function createReservations(
  ask: BatchedCall<Reservation, ReserveVerdict>,
  askRelease: BatchedCall<string, true>,
): Reservations {
  const counted = new LRUCache<string, true>({ max: MAX_COUNTED_USERS })
  const release: Reservations['release'] = async (recordId, deadlineAt = performance.now() + RELEASE_WITHIN_MS) => {
    await askRelease(recordId, deadlineAt)
  }

  /**
   * Asks again while the room is only held by records that may yet not count: refused, or not published. Once there is no
   * more time to wait it counts as used up, also where metering is away by then: that there was no room is the last thing
   * known. What has no use for room anyway only looks from then on: it must not take it from who would use it, and is
   * still told first that the limit is reached (decisions.md, Track event).
   */
  async function reserve(reservation: Reservation, deadlineAt: number): Promise<Reserved>
  async function reserve(
    reservation: Reservation,
    deadlineAt: number,
    isHopeless: () => Promise<boolean>,
  ): Promise<Reserved | 'no-use'>
  async function reserve(
    reservation: Reservation,
    deadlineAt: number,
    isHopeless = () => Promise.resolve(false),
  ): Promise<Reserved | 'no-use'> {
    let asked = await ask(reservation, deadlineAt)
    if (asked.outcome === 'away') return 'unchecked'
    let onlyLooks = false
    for (let pauseMs = FIRST_PAUSE_MS; asked.answer === 'held'; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      onlyLooks ||= await isHopeless()
      if (remainingMs(deadlineAt) <= KEPT_FOR_NAMES_MS + pauseMs) return 'exhausted'
      await sleep(pauseMs)
      asked = await ask(onlyLooks ? { ...reservation, dryRun: true } : reservation, deadlineAt)
      if (asked.outcome === 'away') {
        void release(reservation.recordId) // it may have been granted all the same
        return 'exhausted'
      }
    }
    if (asked.answer === 'room') return 'no-use'
    return asked.answer === 'exhausted' ? 'exhausted' : 'granted'
  }

  return {
    reserveEvent: reserve,
    reserveMau: async (reservation, deadlineAt) => {
      if (counted.get(keyOf(reservation))) return 'granted'
      return reserve(reservation, deadlineAt)
    },
    rememberCounted: (user) => void counted.set(keyOf(user), true),
    release,
  }
}

function keyOf({ userId, month }: CountedUser): string {
  return `${month}/${userId}`
}
