import type { Reservation, ReserveVerdict } from '@nextvisit/contracts'
import { LRUCache } from 'lru-cache'
import type { Asked, BatchedCall } from './batched-call.ts'

const MAX_COUNTED_USERS = 200_000
const RELEASE_WITHIN_MS = 5_000

/** The three that a record may draw on a limit with. `unchecked`: metering could not say in time. */
export type Reserved = 'granted' | 'exhausted' | 'unchecked'
type MauReservation = Extract<Reservation, { kind: 'mau' }>
type CountedUser = Pick<MauReservation, 'userId' | 'month'>
type EventReservation = Extract<Reservation, { kind: 'event' }>

export interface Reservations {
  readonly reserveEvent: (reservation: EventReservation, deadlineAt: number) => Promise<Reserved>
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
  return {
    reserveEvent: async (reservation, deadlineAt) => reserved(await ask(reservation, deadlineAt)),
    reserveMau: async (reservation, deadlineAt) =>
      counted.get(keyOf(reservation)) ? 'granted' : reserved(await ask(reservation, deadlineAt)),
    rememberCounted: (user) => void counted.set(keyOf(user), true),
    release: async (recordId, deadlineAt = performance.now() + RELEASE_WITHIN_MS) => {
      await askRelease(recordId, deadlineAt)
    },
  }
}

function reserved(asked: Asked<ReserveVerdict>): Reserved {
  if (asked.outcome === 'away') return 'unchecked'
  return asked.answer === 'exhausted' ? 'exhausted' : 'granted'
}

function keyOf({ userId, month }: CountedUser): string {
  return `${month}/${userId}`
}
