import { z } from 'zod'
import { Month, SlugId, staleFields, Uuid } from '../primitives.ts'
import { type CounterKind, mapLimits, MONTHLY_LIMITS } from '../workspace/plan-limits.ts'
import { projectFields, unpublishedFields } from './call-fields.ts'
import { type CallTable, defineBatchedCall, defineCall, Done } from './define-call.ts'

/** A request for room under a monthly limit, for a record that is about to be published. */
const Reservation = z.object({
  kind: z.enum(Object.keys(MONTHLY_LIMITS) as CounterKind[]),
  ...projectFields,
  month: Month,
  limit: z.number().int(),
  ...unpublishedFields,
  /** The user, if the limit counts users. Otherwise each record is a unit. */
  userId: Uuid.optional(),
  /** Checks for room, and reserves nothing. */
  dryRun: z.literal(true).optional(),
})
export type Reservation = z.infer<typeof Reservation>

/**
 * - `granted`: the room is reserved.
 * - `counted`: nothing was reserved, because the user already counts this month or the record repeats a folded one.
 * - `held`: the remaining room is reserved for records that are not folded yet and may never be. Ask again.
 * - `no-room`: the limit is reached.
 * - `room`: the answer to a dry run that found room.
 */
export const ReserveVerdict = z.enum(['granted', 'counted', 'held', 'no-room', 'room'])
export type ReserveVerdict = z.infer<typeof ReserveVerdict>

const ofMonth = { organization: SlugId, month: Month }
const lease = { lease: Uuid, units: z.number().int().min(1) }

/** A request to lease the organization's room for events that do not exist yet: all of these units, or none. */
const LeaseQuestion = z.object({
  ...ofMonth,
  limit: z.number().int(),
  /** A new id for each partition that the events will be in. */
  leases: z
    .array(z.object({ ...lease, partition: z.number().int().min(0) }))
    .min(1)
    .max(1_000),
})
export type LeaseQuestion = z.infer<typeof LeaseQuestion>

/** Units of one lease given back so far, including earlier calls: a call may be repeated or arrive late. */
const ReturnedUnits = z.object({ ...ofMonth, ...lease })
export type ReturnedUnits = z.infer<typeof ReturnedUnits>

/** A project's counters of a month. */
const UsageAnswer = z.object({
  month: Month,
  ...mapLimits('usage', () => z.number().int()),
  ...staleFields,
})
export type UsageAnswer = z.infer<typeof UsageAnswer>

export const meteringCalls = {
  /** Reserves room under limits. */
  reserve: defineBatchedCall({ path: '/internal/reservations', question: Reservation, answer: ReserveVerdict }),
  /** Gives back reservations of records that are known to be unpublished. */
  release: defineBatchedCall({
    path: '/internal/reservations/release',
    question: z.object({ organization: SlugId, recordId: Uuid }),
    answer: Done,
  }),
  /** Leases room under event limits (docs/decisions/0017). Answers true to a question whose units are all leased. */
  lease: defineBatchedCall({ path: '/internal/leases', question: LeaseQuestion, answer: z.boolean() }),
  /** Gives back units of leases that are known to be unused. */
  returnLeased: defineBatchedCall({
    path: '/internal/leases/return',
    question: z.array(ReturnedUnits).max(1_000),
    answer: Done,
  }),
  readUsage: defineCall({
    path: '/internal/usage/read',
    question: z.object({ ...projectFields, month: Month }),
    answer: UsageAnswer,
  }),
} satisfies CallTable
