import { z } from 'zod'
import { Instant, staleFields, Uuid } from '../primitives.ts'
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
      'Number of trait operations and device facts that were dropped because the user has reached a limit. Absent if none.',
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
    .describe('True if the user has more events than the 1,000 shown, the first by slug.'),
  segments: z.array(z.string()),
  ...staleFields,
})
export type UserReadModel = z.infer<typeof UserReadModel>

/** A user in a segment. `since`: when the user joined it. */
export const SegmentMember = z.object({ userId: Uuid, userName: z.string(), since: Instant })
