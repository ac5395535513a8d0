import { z } from 'zod'
import { WaitingForm } from '../calls/queue-row.ts'
import { Definition } from '../calls/trait-registry.ts'
import { SegmentMember, UserReadModel } from '../calls/user-projector.ts'
import { Environment, Instant, KeyKind, Month, SlugId, Uuid } from '../primitives.ts'
import { DEVICE_FIELD_VALUES, DEVICE_FIELDS, DeviceFacts, type DeviceField } from '../records/device-info.ts'
import { FormsReadModel } from '../records/form-decisions.ts'
import { TraitValue } from '../records/traits.ts'

/**
 * The public routes' bodies and answers, for OpenAPI and for those who call. The gateway checks bodies by hand, for speed
 * and for messages that name what is wrong; a test holds the two together. Lengths are code points.
 */
const traitKey = z.string().min(1).max(100)
const userName = z
  .string()
  .min(1)
  .max(255)
  .regex(/\S/)
  .describe('How you name the user: an id or an email, say. Taken exactly as given; not only white space.')
const userSignature = z
  .string()
  .nullish()
  .describe('Hex HMAC-SHA256 of userName; for SDK keys, where the project requires it.')
const traitScalar = z.union([z.string().max(500), z.number(), z.boolean(), z.null()])
const traitOperand = z.union([traitScalar, z.array(traitScalar).max(100)])
const MAX_TRAIT_OPERATIONS = 250

const operators = z.strictObject({
  $set: z.record(traitKey, traitOperand).nullish().describe('Set or overwrite traits.'),
  $setOnce: z.record(traitKey, traitOperand).nullish().describe('Set a trait only if it is not already set.'),
  $increment: z.record(traitKey, z.number()).nullish().describe('Increment numeric traits.'),
  $decrement: z.record(traitKey, z.number()).nullish().describe('Decrement numeric traits.'),
  $unset: z.array(traitKey).nullish().describe('Trait keys to remove.'),
})

export const UserAttributes = operators.refine(({ $unset, ...others }) => {
  const counts = Object.values(others).map((operands) => Object.keys(operands ?? {}).length)
  return counts.reduce((total, count) => total + count, $unset?.length ?? 0) <= MAX_TRAIT_OPERATIONS
}, `must hold at most ${MAX_TRAIT_OPERATIONS} operations`)

const deviceMembers = Object.fromEntries(
  DEVICE_FIELDS.map((field) => [field, (deviceValue(field) ?? z.string()).nullish()]),
) as Record<DeviceField, z.ZodOptional<z.ZodNullable<z.ZodString>>>

/** Unknown members are dropped. `$countryCode` is ISO 3166-1 alpha-2, `$timezone` an IANA name. */
export const DeviceInfo = z.object(deviceMembers)

export const IdentifyUserBody = z.object({
  userName,
  userAttributes: UserAttributes.nullish().describe(
    'Operations on traits, applied in this order; at most 250 over all operators.',
  ),
  $deviceInfo: DeviceInfo.nullish().describe('Members that are not listed are dropped.'),
  userSignature,
})

/** `POST /v2/sdk/identify-user`. */
export const VisitBody = IdentifyUserBody.extend({
  repeatMayDiffer: z
    .unknown()
    .optional()
    .describe('true: a repeat under the same Idempotency-Key needs the same userName only, and gets the first answer.'),
})

type Property = string | number | boolean | null | readonly Property[] | { readonly [name: string]: Property }
/** A value in the properties of an event. `z.record` drops the name `__proto__`; the gateway keeps it. */
export const EventProperty: z.ZodType<Property> = z.lazy(() =>
  z.union([
    z.string().max(2_048),
    z.number(),
    z.boolean(),
    z.null(),
    z.array(EventProperty),
    z.record(z.string().max(100), EventProperty),
  ]),
)

const userId = Uuid.describe('Of the organization, project and userName: the same for ever.')
export const IdentifyUserAnswer = z.strictObject({ message: z.literal('ok'), userId })

/** `POST /v2/sdk/identify-user`. */
export const VisitAnswer = z.strictObject({
  message: z.literal('ok'),
  userId,
  nextFeedbackId: z.string().optional().describe('The form to show; absent while none waits.'),
  pingAgainIn: z.number().int().describe('Seconds until the SDK should ask again.'),
  pingOnNextPageVisit: z.boolean().describe('Whether to ask again at the next page, too: another form may wait.'),
  onPageDelay: z.number().describe('Seconds on the page before the form shows.'),
})

export const TrackEventBody = z.object({
  userName,
  eventName: z
    .string()
    .min(1)
    .max(100)
    .describe('At least one letter or digit; not form:*. `Checkout Completed` and `checkout_completed` are one event.'),
  occurredAt: z
    .string()
    .nullish()
    .describe('ISO 8601 with a time zone; at most 5 minutes ahead and 365 days back. Default: now.'),
  properties: z
    .record(z.string().max(100), EventProperty)
    .nullish()
    .describe('Anything about the event: at most 32,768 bytes as JSON, and 5 levels, this object included.'),
  userSignature,
})

export const TrackEventAnswer = z.strictObject({
  requestId: Uuid.describe('Equal to X-Request-Id.'),
  occurredAt: Instant.describe('The time that the event was recorded with, UTC.'),
  newEvent: z.boolean().describe('The event was new in the project and has been created.'),
  triggersEvaluated: z
    .boolean()
    .describe('False for an event older than 15 minutes, and while triggers are yet to be evaluated.'),
  formsQueued: z.number().int().describe("How many forms this event queued for the user's next visit."),
  message: z.string().describe('A summary for people.'),
})

const idempotencyKey = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[\x21-\x7e]+$/)
  .nullish()
  .describe(
    "As the header of the single route. Default: the batch's own key and the position of the item, if it has one.",
  )

export const IdentifyItem = IdentifyUserBody.extend({ type: z.literal('identify'), idempotencyKey })
export const TrackItem = TrackEventBody.extend({ type: z.literal('track'), idempotencyKey })

/** `POST /v2/admin/batch`. */
export const BatchBody = z.object({
  items: z.array(z.discriminatedUnion('type', [IdentifyItem, TrackItem])).max(1_000),
})

const status = z.number().int().describe('The status that the single route would have answered.')
export const IdentifyResult = IdentifyUserAnswer.extend({ status })
export const TrackResult = TrackEventAnswer.extend({ status })

export const BatchAnswer = z.strictObject({
  results: z
    .array(z.union([IdentifyResult, TrackResult, z.lazy(() => ErrorBody)]))
    .describe('One for each item, in the order of the items.'),
})

const segmentTime = z.string().nullish()
const segmentCommon = {
  userId: z
    .union([z.string(), z.number().int()])
    .nullish()
    .describe(
      'Becomes userName. A number beyond 9007199254740991 must be sent as text. Without one, the message is ignored.',
    ),
  anonymousId: z.unknown().optional().describe('A message with nothing but this is accepted and ignored.'),
  messageId: z
    .unknown()
    .optional()
    .describe(
      'Any text, or a whole number up to 9007199254740991. A message that comes again within 24 hours is recorded once.',
    ),
  timestamp: segmentTime.describe('ISO 8601 with a time zone, corrected by sentAt against our clock. Default: now.'),
  originalTimestamp: z.unknown().optional().describe('The same, where RudderStack says it. Read without a timestamp.'),
  sentAt: segmentTime.describe("When the request was sent, by its caller's clock."),
  context: z.unknown().optional().describe('Of it: locale, timezone, os, app, device. They become device facts.'),
  writeKey: z.unknown().optional().describe('The admin key, where no header has it.'),
}

/** One message of Segment's API. Members that are not listed are ignored. */
export const SegmentMessage = z.looseObject({
  ...segmentCommon,
  type: z.unknown().optional().describe("In a batch: identify, track, page, screen, group or alias. Else the route's."),
  traits: z.unknown().optional().describe('Of an identify. Nested objects become traits with dots in their names.'),
  event: z.unknown().optional().describe('Of a track: becomes eventName.'),
  properties: z.unknown().optional().describe('Of a track.'),
})

/** `POST /v1/batch`. */
export const SegmentBatch = z.looseObject({
  batch: z.array(z.unknown()).max(2_500).describe('Messages, each of at most 32,768 bytes.'),
  sentAt: segmentTime,
  writeKey: z.unknown().optional(),
})

export const SegmentAnswer = z.strictObject({
  success: z.literal(true),
  rejected: z.array(
    z.strictObject({
      index: z.number().int().describe('The position in the batch.'),
      messageId: z.string().optional(),
      status: z.number().int().describe('What the message would have been answered alone.'),
      message: z.string(),
    }),
  ),
})

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

const counter = z.strictObject({
  count: z.number().int(),
  limit: z.number().int().nullable().describe('null: unlimited.'),
})

/** `GET /v2/admin/usage`. */
export const UsageOverview = z.strictObject({
  month: Month,
  events: counter.describe("The organization's, environment P."),
  monthlyActiveUsers: counter,
  uniqueEvents: counter,
  uniqueTraits: counter,
})

const next = z.string().nullable().describe('Give it as `after` for the next page; null: there is none.')
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
      usersComputed: z
        .number()
        .int()
        .describe('Users whose membership was computed with the current definition of the segment.'),
      usersTotal: z.number().int().describe('Users of the project. Once all are computed, the two are equal.'),
    }),
  ),
  next,
})
/** `GET /v2/admin/segments/{segmentId}/users`. */
export const SegmentUsersPage = z.strictObject({
  users: z.array(z.strictObject({ ...SegmentMember.shape, since: Instant.describe('When they became a member.') })),
  next,
})

/** A request, or an item of one, that was refused: without a userName, a value or another word of its caller (decisions.md, Refusals). */
export const KeptRefusal = z.strictObject({
  id: Uuid,
  at: Instant,
  reason: z.string().describe('The name of the rule that refused it, such as tooFast.'),
  status: z.number().int().describe('What the request or the item was answered with.'),
  message: z.string().describe('As it was answered, but … in place of names that the caller chose.'),
  route: z.string(),
  requestId: Uuid.describe('The X-Request-Id of the answer.'),
  item: z.number().int().optional().describe('The position in a batch.'),
  key: z
    .strictObject({ name: z.string(), kind: KeyKind, environment: Environment })
    .describe('As the workspace file names it.'),
  userId: Uuid.optional().describe('Absent where the request names no user, or was refused before its body was read.'),
  event: z.string().optional().describe('The slug, where the workspace file declares this event.'),
})
export type KeptRefusal = z.infer<typeof KeptRefusal>

/** `GET /v2/admin/refusals`. */
export const RefusalsPage = z.strictObject({
  refusals: z.array(KeptRefusal).describe('The latest of each reason, newest first.'),
  counts: z.record(z.string(), z.number().int()).describe('All refusals of the last 24 hours, by reason.'),
  next,
})
export type RefusalsPage = z.infer<typeof RefusalsPage>

/** The body of every error. */
export const ErrorBody = z.strictObject({
  status: z.number().int().describe('The HTTP status.'),
  error: z.string().describe("The status' reason, such as Bad Request."),
  message: z.string().describe('What is wrong, and what would be right.'),
})

/** `GET /livez`. */
export const LiveAnswer = z.strictObject({ status: z.literal('available') })
/** `GET /readyz` while a request would succeed; else it answers as every error does. */
export const ReadyAnswer = z.strictObject({
  status: z.literal('available'),
  reasons: z.array(z.string()).max(0).describe('Nothing speaks against it.'),
})

function deviceValue(field: DeviceField) {
  const values = DEVICE_FIELD_VALUES[field]
  return values && z.enum(values)
}
