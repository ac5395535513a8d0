import { z } from 'zod'
import { Environment, Instant, KeyKind, SlugId, Uuid } from '../primitives.ts'
import { DeviceFacts } from './device-info.ts'
import { slugMap, TraitOperations } from './traits.ts'

/** A repeat of a record is dropped if the first was received less than this long before (decisions.md, Retries). */
export const DUPLICATE_WINDOW_MS = 24 * 3_600_000

/** The members of every fact about a user. */
const common = {
  id: Uuid.describe(
    "The record's id, as in `ce_id`; equal to the answer's `X-Request-Id`. UUIDv7, or UUIDv5 where an `Idempotency-Key` " +
      'was given or the record was imported. Readers drop duplicates by it.',
  ),
  organization: SlugId.describe('Whose project it is.'),
  project: SlugId.describe('Where it happened.'),
  userId: Uuid.describe("UUIDv5 of the userName in the project's namespace. The Kafka key."),
  received: Instant.describe(
    "The gateway's clock when it had read the request; for an import, its clock when it had read the line.",
  ),
}

/** What admission could not decide because a service did not answer in time (decisions.md, Busy and broken). */
export const Unchecked = z.enum(['user', 'mau', 'event-limit', 'event-name', 'traits'])
export type Unchecked = z.infer<typeof Unchecked>

/** What identify and tracked events say about their request. */
const request = {
  environment: Environment.describe("The key's environment: P is production, T is test. Only metering differs."),
  source: KeyKind.describe('The kind of key: admin (secret) or sdk (publishable, for an app or a page).'),
  keyed: z
    .boolean()
    .describe('An `Idempotency-Key` was given: the record may be in the log twice, less than 24 h apart.'),
  userName: z.string().describe("The customer's own name for the user, exactly as given."),
  unchecked: z
    .array(Unchecked)
    .describe(
      'The checks that could not be made in time. The record was admitted without them, so these limits were not enforced.',
    ),
  imported: z
    .literal(true)
    .optional()
    .describe(
      'History from `nextvisit import`: it fills in what is not known and triggers nothing. Absent in every other ' +
        'record.',
    ),
}

/** A user said who they are: admitted trait operations and device facts. From an SDK key it is a visit. */
export const IdentifyRequested = z.object({
  type: z.literal('IdentifyRequested').describe('As in `ce_type`.'),
  ...common,
  ...request,
  operations: TraitOperations.describe(
    'The changes to traits: set, setOnce, increment, decrement, unset, in this order.',
  ),
  device: DeviceFacts.describe('Device facts, checked and filtered; they overwrite what was known.'),
  registeredTraits: z.array(z.string()).describe('Slugs that this record registered in the project.'),
  strippedTraits: z.array(z.string()).describe('Slugs over the unique-traits cap; their values never reach the log.'),
  droppedTraits: z.array(z.string()).describe('Disabled slugs; their values never reach the log.'),
  filteredFields: z
    .array(z.string())
    .describe('Known device and personal fields that the project does not keep; their values never reach the log.'),
  occurredAt: Instant.optional().describe(
    'When it happened, if the record was imported and its line says so; otherwise use `received`.',
  ),
})
export type IdentifyRequested = z.infer<typeof IdentifyRequested>

/** One thing that happened to a user. */
export const EventTracked = z.object({
  type: z.literal('EventTracked').describe('As in `ce_type`.'),
  ...common,
  ...request,
  eventName: z.string().describe('The name as the caller wrote it.'),
  slug: z.string().describe("The event's identity: two names with the same slug are one event."),
  occurredAt: Instant.describe('When it happened, as the caller says; by default `received`.'),
  newEvent: z.boolean().describe('This record registered the event in the project.'),
  metered: z.boolean().describe("Counts toward the organization's event limit: environment P, and not imported."),
  evaluateTriggers: z
    .boolean()
    .describe('Not older than 15 minutes when it was received, so it may trigger forms. This is never decided again.'),
  properties: slugMap(z.unknown(), (_input): _input is unknown => true)
    .optional()
    .describe('What the caller says about the event, as given, but for `filteredFields`. Absent: nothing was given.'),
  filteredFields: z
    .array(z.string())
    .optional()
    .describe(
      'Known device and personal fields among the properties that the project does not keep; their values never reach ' +
        'the log. Absent: there were none.',
    ),
  countsFor: z
    .array(z.string())
    .optional()
    .describe(
      'The property counts that this event counts for, by their hashes: the project asked for them when the record was ' +
        'written, and the properties are as they ask. This is never decided again. Absent: there are none.',
    ),
  lease: Uuid.optional().describe(
    "The lease that this event used a unit of: room under the organization's event limit. Absent: it used none.",
  ),
})
export type EventTracked = z.infer<typeof EventTracked>

/** The gateway has answered a visit with a form: the offer is confirmed (forms.md, The queue). */
export const VisitAnswered = z.object({
  type: z.literal('VisitAnswered').describe('As in `ce_type`.'),
  ...common,
  received: Instant.describe("The visit's own `received`."),
  visitId: Uuid.describe("The id of the visit's record."),
  formId: SlugId.describe('The form that was shown.'),
  queuedId: Uuid.describe('The offered row of the queue.'),
})
export type VisitAnswered = z.infer<typeof VisitAnswered>

/** Everything on the topic `user-events`. */
export const UserFact = z.discriminatedUnion('type', [IdentifyRequested, EventTracked, VisitAnswered])
export type UserFact = z.infer<typeof UserFact>
