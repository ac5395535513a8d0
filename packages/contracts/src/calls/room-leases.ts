import { z } from 'zod'
import { Month, SlugId, Uuid } from '../primitives.ts'

// What gateways and metering say about leases of room (docs/decisions/0017); the routes are in internal-api.ts.

const ofMonth = { organization: SlugId, month: Month }
const lease = { lease: Uuid, units: z.number().int().min(1) }

/** The organization's room, for events of this month that are not known yet: all of these units, or none. */
export const LeaseRequest = z.object({
  questions: z
    .array(
      z.object({
        ...ofMonth,
        limit: z.number().int(),
        /** A new id for each partition that events will be in. */
        leases: z
          .array(z.object({ ...lease, partition: z.number().int().min(0) }))
          .min(1)
          .max(1_000),
      }),
    )
    .max(1_000),
})
export type LeaseRequest = z.infer<typeof LeaseRequest>
export type LeaseQuestion = LeaseRequest['questions'][number]
/** For each question, in order: whether all of it is leased. */
export const LeaseAnswer = z.object({ granted: z.array(z.boolean()) })

/** How many units of each lease were given back so far, with those of earlier calls: a call may come twice, or late. */
export const ReturnLeasedRequest = z.object({ returned: z.array(z.object({ ...ofMonth, ...lease })).max(1_000) })
export type ReturnLeasedRequest = z.infer<typeof ReturnLeasedRequest>
export type ReturnedUnits = ReturnLeasedRequest['returned'][number]
