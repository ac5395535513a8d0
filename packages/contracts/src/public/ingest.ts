/**
 * Bodies and answers of the routes that record. The gateway validates bodies by hand, for speed and for messages that name
 * the invalid member; a spec compares the two. Lengths are code points.
 */
import { z } from 'zod'
import { DEVICE_FIELD_VALUES, DEVICE_FIELDS, type DeviceField } from '../device-info.ts'
import { Instant, SlugId, Uuid } from '../primitives.ts'
import { AnswerValue } from '../records/answer-value.ts'
import type { TraitOperations } from '../records/traits.ts'
import { AnswerStatus } from '../records/user-events.ts'
import { BODY_LIMITS, withSeparators } from './body-limits.ts'
import { ErrorBody } from './errors.ts'
import { NextFeedback } from './next-feedback.ts'

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

/** Allows an empty array for an empty object: PHP writes it so. */
function orEmptyArray<Schema extends z.ZodType>(schema: Schema) {
  return z.union([schema, z.array(z.never()).max(0)])
}

const operators = z.strictObject({
  $set: orEmptyArray(z.record(traitKey, traitOperand)).nullish().describe('Set or overwrite traits.'),
  $setOnce: orEmptyArray(z.record(traitKey, traitOperand))
    .nullish()
    .describe('Set a trait only if it is not already set.'),
  $increment: orEmptyArray(z.record(traitKey, z.number())).nullish().describe('Increment numeric traits.'),
  $decrement: orEmptyArray(z.record(traitKey, z.number())).nullish().describe('Decrement numeric traits.'),
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
  userAttributes: orEmptyArray(UserAttributes)
    .nullish()
    .describe(`Trait operations, applied in this order; at most ${BODY_LIMITS.traitOperations} over all operators.`),
  $deviceInfo: orEmptyArray(DeviceInfo).nullish().describe('Unlisted members are dropped.'),
  userSignature,
})

/** `POST /v2/sdk/identify-user`. */
export const VisitBody = IdentifyUserBody.extend({
  $deviceInfo: z.union([DeviceInfo, z.unknown()]).optional().describe('Unlisted and invalid members are dropped.'),
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
  nextFeedback: NextFeedback.optional().describe('The form to show, with its content; absent if none waits.'),
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
  properties: orEmptyArray(z.record(z.string().max(BODY_LIMITS.propertyKeyLength), EventProperty))
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

const answerStatus = AnswerStatus.describe(
  'finished and dismissed end the form. A finished form has all of its answers.',
)

/** `POST /v2/sdk/answers` and `POST /v2/admin/answers`. */
export const AnswersBody = z.object({
  userName,
  offerId: Uuid.describe('As in nextFeedback.'),
  formId: SlugId.describe('As in nextFeedback.'),
  revision: z.number().int().min(1).describe('As in nextFeedback: the answers are checked against this content.'),
  answers: orEmptyArray(z.record(z.string(), AnswerValue.nullable())).describe(
    'Answers by the id of the element. nps and rating: a number; text: a string; consent: true or false; choice: the id of ' +
      'an option, or { "other": "…" }; choices: an array of these. Answers to hidden elements are dropped.',
  ),
  status: answerStatus,
  language: z.string().nullish().describe('The language that the user saw, one of those of the form.'),
  userSignature,
})

export const AnswersAnswer = z.strictObject({
  requestId: Uuid.describe('Equal to X-Request-Id.'),
  status: answerStatus,
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
    .array(z.union([IdentifyResult, TrackResult, ErrorBody]))
    .describe('One per item, in the order of the items.'),
})

function deviceValue(field: DeviceField) {
  const values = DEVICE_FIELD_VALUES[field]
  return values && z.enum(values)
}
