import type { ReserveVerdict } from '@nextvisit/contracts'
import type { BatchedOutcome } from '@nextvisit/service-kit'

/**
 * A question of admission without a verdict. All verdicts, with their effects:
 *
 * | Question, answered by | Verdict | Effect |
 * |---|---|---|
 * | Does the user exist? user projector | `exists` | admitted |
 * | | `missing` | an event gets 404 |
 * | | `unknown` | the user's partition lags: admitted, and the record names the missing check |
 * | Is there room under a limit? metering | `granted`, `counted` | admitted |
 * | | `held` | reserved for other records: asked again, in the end as `no-room` |
 * | | `no-room` | the limit is reached: refused |
 * | Is the name new? trait registry | `registered`, `claimed` | admitted |
 * | | `new` | admitted, and registers the name |
 * | | `no-room` | the cap is reached: an event is refused, a trait is dropped |
 * | a dry run of either | `room` | reserves and claims nothing |
 * | any | `unchecked` | no answer in time: admitted, and the record names the missing check |
 * | | `crowded` | no turn in time, since the tenant asks too much at once: 503 |
 */
export type NoVerdict = 'unchecked' | 'crowded'

/** Returns the answer to a question, or why there is none. The service may still have acted. */
export function verdictOf<Verdict>(asked: BatchedOutcome<Verdict>): Verdict | NoVerdict {
  if (asked.outcome === 'answered') return asked.answer
  return asked.outcome === 'crowded' ? 'crowded' : 'unchecked'
}

/**
 * Returns the verdict of a check after others. If a service did not answer one of them, the request may have waited for it
 * until no time was left: then it does not fail for want of a turn. A service that answered, such as that a partition lags,
 * is no such reason.
 */
export function verdictAfter<Verdict>(isServiceSilent: boolean, verdict: Verdict | NoVerdict): Verdict | NoVerdict {
  return verdict === 'crowded' && isServiceSilent ? 'unchecked' : verdict
}

/** Gives back room or names. Resolves once that is done, or at the deadline; never rejects. */
export type Release = (deadlineAt?: number) => Promise<unknown>

/** The answer to a reservation. */
export interface Reserved {
  readonly verdict: Exclude<ReserveVerdict, 'held'> | NoVerdict
  /** The lease that the unit is of. */
  readonly lease?: string
  /** Gives back the room of a record that is known to be unpublished. Call it at most once. */
  readonly release: Release
}
