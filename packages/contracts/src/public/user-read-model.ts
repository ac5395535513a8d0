import { z } from 'zod'
import { Instant, Uuid } from '../primitives.ts'
import { DeviceFacts } from '../device-info.ts'
import { slugMap, traitMap } from '../records/traits.ts'

/** Maximum number of a user's events in an answer; a project may have many more names. */
export const MAX_EVENTS_SHOWN = 1_000

const EventSummary = z.object({ count: z.number().int(), firstAt: Instant, lastAt: Instant })
type EventSummary = z.infer<typeof EventSummary>
const isEventSummary = (input: unknown): input is EventSummary => EventSummary.safeParse(input).success

/** The user projector's read model of one user. */
export const UserReadModel = z.object({
  userId: Uuid,
  userName: z.string(),
  traits: traitMap(),
  droppedTraitOperations: z
    .number()
    .int()
    .optional()
    .describe(
      'How many trait operations and device facts were dropped, as the user has reached a limit; absent: none.',
    ),
  country: z.string().nullable(),
  device: DeviceFacts,
  firstSeenAt: Instant,
  lastSeenAt: Instant,
  /** By slug, at most {@link MAX_EVENTS_SHOWN}. */
  events: slugMap(EventSummary, isEventSummary),
  moreEvents: z
    .literal(true)
    .optional()
    .describe('The user has had more events than are shown here: the first 1,000 by slug.'),
  segments: z.array(z.string()),
})
export type UserReadModel = z.infer<typeof UserReadModel>

/** A user in a segment. `since`: when the user joined it. */
export const SegmentMember = z.object({ userId: Uuid, userName: z.string(), since: Instant })
