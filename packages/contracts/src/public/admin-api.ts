import { z } from 'zod'
import { WaitingForm } from './queue-row.ts'
import { BODY_LIMITS, withSeparators } from './body-limits.ts'
import { Definition } from './definition.ts'
import { SegmentMember, UserReadModel } from './user-read-model.ts'
import { Environment, Instant, KeyKind, Month, SlugId, Uuid } from '../primitives.ts'
import { DEVICE_FIELD_VALUES, DEVICE_FIELDS, DeviceFacts, type DeviceField } from '../device-info.ts'
import { FormsReadModel } from './form-decisions.ts'
import { type TraitOperations, TraitValue } from '../records/traits.ts'

/**
 * Bodies and answers of the public routes, for OpenAPI and clients. The gateway validates bodies by hand, for speed
 * and for messages that name the invalid member; a spec compares the two. Lengths are code points.
 */
const traitKey = z.string().min(1).max(BODY_LIMITS.traitKeyLength)
const userName = z
  .string()
  .min(1)
  .max(BODY_LIMITS.userNameLength)
  .regex(/\S/)
  .describe('Your name for the user, such as an id or an email. Used exactly as given; not only white space.')
const userSignature = z
  .string()
  .nullish()
  .describe('Hex HMAC-SHA256 of userName; for SDK keys, if the project requires it.')
const traitScalar = z.union([z.string().max(BODY_LIMITS.traitStringLength), z.number(), z.boolean(), z.null()])
const traitOperand = z.union([traitScalar, z.array(traitScalar).max(BODY_LIMITS.traitItems)])
const operators = z.strictObject({
  $set: z.record(traitKey, traitOperand).nullish().describe('Set or overwrite traits.'),
  $setOnce: z.record(traitKey, traitOperand).nullish().describe('Set a trait only if it is not already set.'),
  $increment: z.record(traitKey, z.number()).nullish().describe('Increment numeric traits.'),
  $decrement: z.record(traitKey, z.number()).nullish().describe('Decrement numeric traits.'),
  $unset: z.array(traitKey).nullish().describe('Trait keys to remove.'),
} satisfies { readonly [Operator in keyof TraitOperations as `$${Operator}`]-?: z.ZodType })

export const UserAttributes = operators.refine(({ $unset, ...others }) => {
  const counts = Object.values(others).map((operands) => Object.keys(operands ?? {}).length)
  return counts.reduce((total, count) => total + count, $unset?.length ?? 0) <= BODY_LIMITS.traitOperations
}, `must hold at most ${BODY_LIMITS.traitOperations} operations`)

const deviceMembers = Object.fromEntries(
  DEVICE_FIELDS.map((field) => [field, (deviceValue(field) ?? z.string()).nullish()]),
) as Record<DeviceField, z.ZodOptional<z.ZodNullable<z.ZodString>>>

/** Unknown members are dropped. `$countryCode` is ISO 3166-1 alpha-2, `$timezone` an IANA name. */
export const DeviceInfo = z.object(deviceMembers)

export const IdentifyUserBody = z.object({
  userName,
  userAttributes: UserAttributes.nullish().describe(
    `Trait operations, applied in this order; at most ${BODY_LIMITS.traitOperations} over all operators.`,
  ),
  $deviceInfo: DeviceInfo.nullish().describe('Unlisted members are dropped.'),
  userSignature,
})

/** `POST /v2/sdk/identify-user`. */
export const VisitBody = IdentifyUserBody.extend({
  repeatMayDiffer: z
    .unknown()
    .optional()
    .describe('true: a repeat under the same Idempotency-Key only needs the same userName, and gets the first answer.'),
})

type Property = string | number | boolean | null | readonly Property[] | { readonly [name: string]: Property }
/** A value in the properties of an event. `z.record` drops the name `__proto__`; the gateway keeps it. */
export const EventProperty: z.ZodType<Property> = z.lazy(() =>
  z.union([
    z.string().max(BODY_LIMITS.propertyStringLength),
    z.number(),
    z.boolean(),
    z.null(),
    z.array(EventProperty),
    z.record(z.string().max(BODY_LIMITS.propertyKeyLength), EventProperty),
  ]),
)

const userId = Uuid.describe('Derived from organization, project and userName; never changes.')
export const IdentifyUserAnswer = z.strictObject({ message: z.literal('ok'), userId })

/** `POST /v2/sdk/identify-user`. */
export const VisitAnswer = z.strictObject({
  message: z.literal('ok'),
  userId,
  nextFeedbackId: z.string().optional().describe('The form to show; absent if none waits.'),
  pingAgainIn: z.number().int().describe('Seconds until the SDK should ask again; 0: never by time.'),
  pingOnNextPageVisit: z.boolean().describe('Ask again on the next page, too: another form may wait.'),
  onPageDelay: z.number().describe('Seconds on the page before the form is shown.'),
})

export const TrackEventBody = z.object({
  userName,
  eventName: z
    .string()
    .min(1)
    .max(BODY_LIMITS.eventNameLength)
    .describe('At least one letter or digit; not form:*. `Checkout Completed` and `checkout_completed` are one event.'),
  occurredAt: z
    .string()
    .nullish()
    .describe('ISO 8601 with a time zone; at most 5 minutes ahead and 365 days back. Default: now.'),
  properties: z
    .record(z.string().max(BODY_LIMITS.propertyKeyLength), EventProperty)
    .nullish()
    .describe(
      `Any data about the event: at most ${withSeparators(BODY_LIMITS.propertiesBytes)} bytes as JSON and ${BODY_LIMITS.propertiesDepth} levels, including this object.`,
    ),
  userSignature,
})

export const TrackEventAnswer = z.strictObject({
  requestId: Uuid.describe('Equal to X-Request-Id.'),
  occurredAt: Instant.describe('The recorded time of the event, UTC.'),
  newEvent: z.boolean().describe('true if this request registered the event in the project.'),
  triggersEvaluated: z
    .boolean()
    .describe('false for an event older than 15 minutes, and if the triggers are evaluated later.'),
  formsQueued: z.number().int().describe("Number of forms that this event queued for the user's next visit."),
  message: z.string().describe('A summary in English.'),
})

const idempotencyKey = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[\x21-\x7e]+$/)
  .nullish()
  .describe(
    "Like the header of the single route. Default: derived from the batch's key, if any, and the position of the item.",
  )

export const IdentifyItem = IdentifyUserBody.extend({ type: z.literal('identify'), idempotencyKey })
export const TrackItem = TrackEventBody.extend({ type: z.literal('track'), idempotencyKey })

/** `POST /v2/admin/batch`. */
export const BatchBody = z.object({
  items: z.array(z.discriminatedUnion('type', [IdentifyItem, TrackItem])).max(BODY_LIMITS.batchItems),
})

const status = z.number().int().describe('The status of the answer of the single route.')
export const IdentifyResult = IdentifyUserAnswer.extend({ status })
export const TrackResult = TrackEventAnswer.extend({ status })

export const BatchAnswer = z.strictObject({
  results: z
    .array(z.union([IdentifyResult, TrackResult, z.lazy(() => ErrorBody)]))
    .describe('One per item, in the order of the items.'),
})

const segmentTime = z.string().nullish()
const segmentCommon = {
  userId: z
    .union([z.string(), z.number().int()])
    .nullish()
    .describe(
      'Becomes userName. A number beyond 9007199254740991 must be sent as text. A message without a userId is ignored.',
    ),
  anonymousId: z.unknown().optional().describe('A message without a userId is accepted and ignored.'),
  messageId: z
    .unknown()
    .optional()
    .describe('Any text, or an integer up to 9007199254740991. A message repeated within 24 hours is recorded once.'),
  timestamp: segmentTime.describe(
    'ISO 8601 with a time zone, corrected by the clock difference in sentAt. Default: now.',
  ),
  originalTimestamp: z.unknown().optional().describe('The same, as sent by RudderStack. Used if timestamp is absent.'),
  sentAt: segmentTime.describe("The time when the request was sent, by the caller's clock."),
  context: z.unknown().optional().describe('locale, timezone, os, app and device become device facts.'),
  writeKey: z.unknown().optional().describe('The admin key, if no header has it.'),
}

/** A message of Segment's API. Unlisted members are ignored. */
export const SegmentMessage = z.looseObject({
  ...segmentCommon,
  type: z
    .unknown()
    .optional()
    .describe('In a batch: identify, track, page, screen, group or alias. Elsewhere the route determines it.'),
  traits: z.unknown().optional().describe('For identify. Nested objects become traits with dots in their names.'),
  event: z.unknown().optional().describe('For track. Becomes eventName.'),
  properties: z.unknown().optional().describe('For track.'),
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
      status: z.number().int().describe('The status that the message alone would have got.'),
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
  events: counter.describe('Events of the organization in environment P.'),
  monthlyActiveUsers: counter,
  uniqueEvents: counter,
  uniqueTraits: counter,
})

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
})
/** `GET /v2/admin/segments/{segmentId}/users`. */
export const SegmentUsersPage = z.strictObject({
  users: z.array(
    z.strictObject({ ...SegmentMember.shape, since: Instant.describe('The time when the user became a member.') }),
  ),
  next,
})

/** A refused request or item, without a userName, a value or other text of the caller (decisions.md, Refusals). */
export const KeptRefusal = z.strictObject({
  id: Uuid,
  at: Instant,
  reason: z.string().describe('The name of the rule that refused it, such as tooFast.'),
  status: z.number().int().describe('The status of the answer.'),
  message: z.string().describe('The message of the answer, with … in place of names that the caller chose.'),
  route: z.string(),
  requestId: Uuid.describe('The X-Request-Id of the answer.'),
  item: z.number().int().optional().describe('The position in a batch.'),
  key: z
    .strictObject({ name: z.string(), kind: KeyKind, environment: Environment })
    .describe('The key as named in the workspace file.'),
  userId: Uuid.optional().describe('Absent if the request names no user, or was refused before its body was read.'),
  event: z.string().optional().describe('The slug, if the workspace file declares this event.'),
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
  error: z.string().describe('The reason phrase of the status, such as Bad Request.'),
  message: z.string().describe('The invalid part, and the accepted form.'),
})

/** `GET /livez`. */
export const LiveAnswer = z.strictObject({ status: z.literal('available') })
/** `GET /readyz` while requests succeed; otherwise it answers with an {@link ErrorBody}. */
export const ReadyAnswer = z.strictObject({
  status: z.literal('available'),
  reasons: z.array(z.string()).max(0).describe('Always empty.'),
})

function deviceValue(field: DeviceField) {
  const values = DEVICE_FIELD_VALUES[field]
  return values && z.enum(values)
}
