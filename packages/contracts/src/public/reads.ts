import { z } from 'zod'
import { DeviceFacts } from '../device-info.ts'
import { Instant, Month, SlugId, staleFields, Uuid } from '../primitives.ts'
import { TraitValue } from '../records/traits.ts'
import { mapLimits } from '../workspace/plan-limits.ts'
import { FormsReadModel } from './form-decisions.ts'
import { WaitingForm } from './queue-row.ts'
import { SegmentMember, UserReadModel } from './user-read-model.ts'

/** `GET /v2/admin/users/{userName}`. */
export const UserAnswer = z.strictObject({
  ...UserReadModel.shape,
  traits: z.record(z.string(), TraitValue),
  device: DeviceFacts,
  events: z.record(z.string(), z.strictObject({ count: z.number().int(), firstAt: Instant, lastAt: Instant })),
  waitingForms: z.array(WaitingForm),
})

/** `GET /v2/admin/users/{userName}/forms`. */
export const UserFormsAnswer = z.strictObject({ userId: Uuid, userName: z.string(), ...FormsReadModel.shape })

/** `GET /v2/admin/usage`. */
export const UsageOverview = z.strictObject({
  month: Month,
  ...mapLimits('usage', ({ counts }) =>
    z
      .strictObject({
        count: z.number().int(),
        limit: z.number().int().nullable().describe('null: unlimited.'),
      })
      .describe(counts),
  ),
  ...staleFields,
})

/** A registered name of a trait or an event. */
export const Definition = z.object({
  slug: z.string(),
  name: z.string(),
  firstSeenAt: Instant,
  lastSeenAt: Instant,
  count: z.number().int(),
})
export type Definition = z.infer<typeof Definition>

const next = z.string().nullable().describe('Pass it as `after` for the next page; null: this is the last page.')
/** `GET /v2/admin/traits`. */
export const TraitsPage = z.strictObject({ traits: z.array(Definition), next })
/** `GET /v2/admin/events`. */
export const EventsPage = z.strictObject({ events: z.array(Definition), next })

/** `GET /v2/admin/segments`. */
export const SegmentsPage = z.strictObject({
  segments: z.array(
    z.strictObject({
      id: SlugId,
      name: z.string().nullable(),
      members: z.number().int(),
      usersComputed: z.number().int().describe('Users computed with the current definition of the segment.'),
      usersTotal: z.number().int().describe('Users of the project. Equals usersComputed once the segment is complete.'),
    }),
  ),
  next,
  ...staleFields,
})
/** `GET /v2/admin/segments/{segmentId}/users`. */
export const SegmentUsersPage = z.strictObject({
  users: z.array(
    z.strictObject({ ...SegmentMember.shape, since: Instant.describe('The time when the user became a member.') }),
  ),
  next,
  ...staleFields,
})
