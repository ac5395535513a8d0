import { z } from 'zod'
import { DEVICE_FIELDS, DeviceFacts } from '../device-info.ts'
import { Environment, Instant, KeyKind, SlugId, Uuid } from '../primitives.ts'
import { PLAN_LIMITS } from '../workspace/plan-limits.ts'
import { listOf, textList, withFewMembers } from './first-issue.ts'
import { AnsweredElements, Answers } from './answer-value.ts'
import { slugMap, TraitOperations } from './traits.ts'

/** A duplicate of a record is dropped if it was received less than this long after the first (decisions.md, Retries). */
export const DUPLICATE_WINDOW_MS = 24 * 3_600_000

/** Members of every record on `user-events`. */
const userFactMembers = {
  id: Uuid.describe(
    "The record's id, as in `ce_id`; equal to the answer's `X-Request-Id`. UUIDv7, or UUIDv5 if an `Idempotency-Key` " +
      'was given or the record was imported. Readers drop duplicates by it.',
  ),
  organization: SlugId.describe('The organization of the project.'),
  project: SlugId.describe('The project of the user.'),
  userId: Uuid.describe("UUIDv5 of the userName in the project's namespace. The Kafka key."),
  received: Instant.describe(
    "The gateway's clock once it has read the request; for an import, its clock once it has read the line.",
  ),
}

/** A check that admission skipped because a service did not answer in time (decisions.md, Busy and broken). */
export const Unchecked = z.enum(['user', ...PLAN_LIMITS.map(({ unchecked }) => unchecked)])
export type Unchecked = z.infer<typeof Unchecked>

/**
 * Personal members of a record in the log, encrypted with a data key of the user (decision 18). Their text is the JSON of the
 * members, and record id and userId are authenticated with it.
 */
export const Sealed = z
  .object({
    key: Uuid.describe('Id of the data key, UUIDv7: `user-keys` has the key until the user is erased.'),
    bytes: z
      .string()
      .describe('Nonce (12 bytes), ciphertext and tag (16 bytes) of ChaCha20-Poly1305 (RFC 8439), in base64.'),
  })
  .describe('The personal members, encrypted with a data key of the user.')
export type Sealed = z.infer<typeof Sealed>

/** A personal member, whose place is in `sealed`. A record that has it in clear becomes a dead letter. */
export const onlySealed = z
  .never({ error: 'must be sealed' })
  .optional()
  .describe('Never in clear: its place is in `sealed`.')

/** Members that describe the request: an identify, a tracked event or an answer. */
const requestMembers = {
  environment: Environment.describe("The key's environment: P is production, T is test. Only metering differs."),
  source: KeyKind.describe('The kind of key: admin (secret) or sdk (publishable, for an app or a page).'),
  keyed: z
    .boolean()
    .describe('An `Idempotency-Key` was given: the record may be in the log twice, less than 24 h apart.'),
  unchecked: listOf(Unchecked, (input): input is Unchecked => Unchecked.options.includes(input as Unchecked)).describe(
    'The checks that could not be made in time. The record was admitted without them, and these limits were not enforced.',
  ),
}

/** Members of the records that an import may also write: identifies and events. */
const activityMembers = {
  ...requestMembers,
  imported: z
    .literal(true)
    .optional()
    .describe(
      'History from `nextvisit import`: it fills in unknown values and triggers nothing. Absent in every other ' +
        'record.',
    ),
}

const identifyMembers = {
  type: z.literal('IdentifyRequested').describe('As in `ce_type`.'),
  ...userFactMembers,
  ...activityMembers,
  traits: textList().describe('Slugs of the traits that its operations name, without known fields and `unset`.'),
  registeredTraits: textList().describe('Slugs that this record registered in the project.'),
  strippedTraits: textList().describe('Slugs over the unique-traits cap; their values never reach the log.'),
  droppedTraits: textList().describe('Disabled slugs; their values never reach the log.'),
  filteredFields: textList().describe(
    'Known device and personal fields that the project does not keep; their values never reach the log.',
  ),
  invalidDeviceFields: textList()
    .optional()
    .describe(
      'Device facts of a visit that were invalid, and dropped; their values never reach the log. Absent: none.',
    ),
  occurredAt: Instant.optional().describe(
    'Time of the identify, if the record was imported and its line has one; otherwise use `received`.',
  ),
}

const identifyPersonalMembers = {
  userName: z.string().describe("The customer's own name for the user, exactly as given."),
  operations: TraitOperations.describe(
    `The changes to traits: ${Object.keys(TraitOperations.shape).join(', ')}, in this order.`,
  ),
  device: withFewMembers(DeviceFacts, DEVICE_FIELDS.length).describe(
    'Device facts, validated and filtered; they overwrite known facts.',
  ),
}

/** An identify whose personal members are readable. */
export const IdentifyRequested = z.object({ ...identifyMembers, ...identifyPersonalMembers })
export type IdentifyRequested = z.infer<typeof IdentifyRequested>

/** An identify as it is in the log. */
export const SealedIdentifyRequested = z
  .object({ ...identifyMembers, sealed: Sealed, userName: onlySealed, operations: onlySealed, device: onlySealed })
  .describe(
    'An identify of a user: admitted trait operations and device facts. With an SDK key it is a visit. Sealed: ' +
      '`userName`, `operations` and `device`.',
  )
export type SealedIdentifyRequested = z.infer<typeof SealedIdentifyRequested>

const eventMembers = {
  type: z.literal('EventTracked').describe('As in `ce_type`.'),
  ...userFactMembers,
  ...activityMembers,
  eventName: z.string().describe('The name as the caller wrote it.'),
  slug: z.string().describe("The event's identity: two names with the same slug are one event."),
  occurredAt: Instant.describe('Time of the event, as given by the caller; by default `received`.'),
  newEvent: z.boolean().describe('This record registered the event in the project.'),
  metered: z.boolean().describe("Counts toward the organization's event limit: environment P, and not imported."),
  evaluateTriggers: z
    .boolean()
    .describe('The event was not older than 15 minutes when it was received, so it may trigger forms. Decided once.'),
  filteredFields: textList()
    .optional()
    .describe(
      'Known device and personal fields among the properties that the project does not keep; their values never reach ' +
        'the log. Absent: none.',
    ),
  countsFor: textList()
    .optional()
    .describe(
      'Hashes of the property counts that this event counts for. The project used them when the record was ' +
        'written, and the properties match. Decided once. Absent: none.',
    ),
  lease: Uuid.optional().describe(
    "The lease of room under the organization's event limit that this event used a unit of. Absent: none.",
  ),
}

const eventPersonalMembers = {
  properties: slugMap(z.unknown(), (_input): _input is unknown => true).describe(
    "The caller's data about the event, as given, without `filteredFields`. Absent: none was given.",
  ),
}

/** An event whose properties are readable. */
export const EventTracked = z.object({ ...eventMembers, ...z.object(eventPersonalMembers).partial().shape })
export type EventTracked = z.infer<typeof EventTracked>

/** An event as it is in the log. */
export const SealedEventTracked = z
  .object({ ...eventMembers, sealed: Sealed.optional(), properties: onlySealed })
  .describe('An event of a user. Sealed: `properties`. Without properties, nothing is sealed.')
export type SealedEventTracked = z.infer<typeof SealedEventTracked>

/** The state of an answer: `finished` and `dismissed` end the form. */
export const AnswerStatus = z.enum(['partial', 'finished', 'dismissed'])
export type AnswerStatus = z.infer<typeof AnswerStatus>

const answerMembers = {
  type: z.literal('AnswerGiven').describe('As in `ce_type`.'),
  ...userFactMembers,
  ...requestMembers,
  offerId: Uuid.describe(
    'The answered delivery of the form: a row of the queue, according to the caller. It may be unknown.',
  ),
  formId: SlugId.describe('The answered form.'),
  revision: z.number().int().min(1).describe('The revision of the content that the answers were checked against.'),
  status: AnswerStatus.describe('`finished` and `dismissed` end the form.'),
  language: z.string().optional().describe('The language of the content that the user saw. Absent: not given.'),
  elements: AnsweredElements.describe('The answered elements, with their types: the names of `answers`. May be empty.'),
}

/** Personal members of an answer, and of the outcome that is published of it. */
export const answerPersonalMembers = {
  answers: Answers.describe('The answers by element, without those of hidden elements. May be empty.'),
}

/** An answer to a form whose personal members are readable. */
export const AnswerGiven = z.object({ ...answerMembers, ...answerPersonalMembers })
export type AnswerGiven = z.infer<typeof AnswerGiven>

/** An answer to a form as it is in the log. */
export const SealedAnswerGiven = z
  .object({ ...answerMembers, sealed: Sealed, answers: onlySealed })
  .describe('A user has answered a form, wholly or in part, or dismissed it. Sealed: `answers`.')
export type SealedAnswerGiven = z.infer<typeof SealedAnswerGiven>

/** Members of the records that say what a visit showed. */
export const deliveryMembers = {
  environment: Environment.describe("The environment of the visit's key."),
  revision: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('The revision of the content that was shown. Absent: the form was shown without content.'),
  language: z.string().optional().describe('The language of that content. Absent without content.'),
}

/** Confirms the offer of a form (forms.md, The queue). */
export const VisitAnswered = z
  .object({
    type: z.literal('VisitAnswered').describe('As in `ce_type`.'),
    ...userFactMembers,
    received: Instant.describe("The visit's own `received`."),
    visitId: Uuid.describe("The id of the visit's record."),
    formId: SlugId.describe('The form that was shown.'),
    queuedId: Uuid.describe('The offered row of the queue.'),
    ...deliveryMembers,
  })
  .describe('The gateway has answered a visit with a form.')
export type VisitAnswered = z.infer<typeof VisitAnswered>

/** The fence of an erasure (decision 18). Every record of the user before it, and every one that a fenced key sealed, is erased. */
export const UserErased = z
  .object({
    type: z.literal('UserErased').describe('As in `ce_type`.'),
    ...userFactMembers,
    id: Uuid.describe('As in `ce_id`: UUIDv5 of the erasureId in the namespace of the userId.'),
    received: Instant.describe('When the erasure was requested.'),
    erasureId: Uuid.describe('The erasure.'),
    keysUntil: Instant.describe('Data keys of the user that were created until this instant are destroyed.'),
  })
  .describe('The user is erased: everything of the user before this record.')
export type UserErased = z.infer<typeof UserErased>

/** The personal members of a record, by its type: sealed in the log, readable in a fact. */
export const PERSONAL_MEMBERS = {
  IdentifyRequested: z.object(identifyPersonalMembers),
  EventTracked: z.object(eventPersonalMembers),
  AnswerGiven: z.object(answerPersonalMembers),
  FormAnswered: z.object(answerPersonalMembers),
} as const
