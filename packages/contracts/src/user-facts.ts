import { z } from 'zod'
import { DeviceFacts } from './device-info.ts'
import { Environment, Instant, KeyKind, SlugId, Uuid } from './primitives.ts'
import { TraitOperations } from './traits.ts'

/** What every fact about a user carries. */
const common = {
  id: Uuid.describe(
    "The record's id, as in `ce_id`; equal to the answer's `X-Request-Id`. UUIDv7, or UUIDv5 where an `Idempotency-Key` " +
      'was given or the record was imported. Repeats are dropped by it.',
  ),
  organization: SlugId.describe('Whose project it is.'),
  project: SlugId.describe('Where it happened.'),
  userId: Uuid.describe("UUIDv5 of the userName in the project's namespace. The Kafka key."),
  received: Instant.describe(
    "The gateway's clock when it had read the request; an import's when it had read the line.",
  ),
}

/** What admission could not decide because an owner did not answer in time (decisions.md, Busy and broken). */
export const Unchecked = z.enum(['user', 'mau', 'event-limit', 'event-name', 'traits'])
export type Unchecked = z.infer<typeof Unchecked>

/** What is known of the request of an identify or a tracked event. */
const request = {
  environment: Environment.describe("The key's: P is production, T is test. Only metering differs."),
  source: KeyKind.describe('By which kind of key it came: admin (secret) or sdk (publishable, an app or a page).'),
  keyed: z.boolean().describe('An `Idempotency-Key` was given: the record may come twice, less than 24 h apart.'),
  userName: z.string().describe("The customer's own name for the user, exactly as given."),
  unchecked: z
    .array(Unchecked)
    .describe(
      'What could not be decided in time, so that the record was admitted without: no limit was enforced there.',
    ),
  imported: z
    .literal(true)
    .optional()
    .describe(
      'History that `nextvisit import` brought in: it fills in what is not known and sets nothing off. Left out of ' +
        'every other record.',
    ),
}

/** A user said who they are: admitted trait operations and device facts. From an SDK key it is a visit. */
export const IdentifyRequested = z.object({
  type: z.literal('IdentifyRequested').describe('As in `ce_type`.'),
  ...common,
  ...request,
  operations: TraitOperations.describe(
    'What becomes of the traits: set, setOnce, increment, decrement, unset, in this order.',
  ),
  device: DeviceFacts.describe('Device facts, checked and filtered; laid over what was known.'),
  registeredTraits: z.array(z.string()).describe('Slugs that this record brought into the project.'),
  strippedTraits: z.array(z.string()).describe('Slugs over the unique-traits cap; their values never reach the log.'),
  droppedTraits: z.array(z.string()).describe('Slugs that are marked disabled; likewise.'),
  filteredFields: z
    .array(z.string())
    .describe('Known device and personal fields that the project does not keep; likewise.'),
  occurredAt: Instant.optional().describe(
    'When they said so, where the record was imported and its line knows; else it is `received`.',
  ),
})
export type IdentifyRequested = z.infer<typeof IdentifyRequested>

/** One thing that happened to a user. */
export const EventTracked = z.object({
  type: z.literal('EventTracked').describe('As in `ce_type`.'),
  ...common,
  ...request,
  eventName: z.string().describe('As the caller wrote it.'),
  slug: z.string().describe("The event's identity: two names with one slug are one event."),
  occurredAt: Instant.describe('When it happened, as the caller says; else `received`.'),
  newEvent: z.boolean().describe('This record brought the event into the project.'),
  metered: z.boolean().describe("Counts toward the organization's event limit: environment P, and not imported."),
  evaluateTriggers: z
    .boolean()
    .describe('Not older than 15 minutes when it was received, so it may set off forms. Nobody judges this again.'),
})
export type EventTracked = z.infer<typeof EventTracked>

/** The gateway has answered a visit with a form: the offer is confirmed (forms.md, The queue). */
export const VisitAnswered = z.object({
  type: z.literal('VisitAnswered').describe('As in `ce_type`.'),
  ...common,
  received: Instant.describe("The visit's own `received`."),
  visitId: Uuid.describe("The visit's own record."),
  formId: SlugId.describe('The form that was shown.'),
  queuedId: Uuid.describe('The row of the queue that was offered.'),
})
export type VisitAnswered = z.infer<typeof VisitAnswered>

/** Everything on the topic `user-events`. */
export const UserFact = z.discriminatedUnion('type', [IdentifyRequested, EventTracked, VisitAnswered])
export type UserFact = z.infer<typeof UserFact>
