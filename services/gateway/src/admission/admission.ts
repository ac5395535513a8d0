import type { PublishOutcome } from '@nextvisit/log'
import type { Refusal } from '../refusal.ts'

/** Where a record will be; its owner settles the reservations of what never lands. */
export interface RecordPlace {
  readonly userId: string
  readonly partition: number
}

/** A fact with every verdict in it, and what is to be done once it is known what became of its record. */
export interface Admitted<Fact> {
  readonly outcome: 'admitted'
  readonly fact: Fact
  /** Remembers what an ack proves; gives back what certainly was not published; leaves the unknown to its owners. */
  readonly settle: (published: PublishOutcome['outcome']) => Promise<void>
}

export type Admission<Fact> = Admitted<Fact> | Refusal
