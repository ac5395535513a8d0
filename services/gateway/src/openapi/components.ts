import {
  ConditionLeaf,
  Day,
  DeliveryStatus,
  DeviceFacts,
  Environment,
  FormDecision,
  GateOutcome,
  IdentifyUserBody,
  LanguageTag,
  PropertyLeaf,
  publicApi,
  QueuedForm,
  SlugId,
  TraitValue,
  Trigger,
  Uuid,
  WaitingForm,
  WEBHOOK_PAYLOADS,
  WebhookType,
} from '@nextvisit/contracts'
import { z } from 'zod'
import type { oas32, ZodOpenApiContentObject, ZodOpenApiExamplesObject, ZodOpenApiOverride } from 'zod-openapi'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../reads/page-query.ts'

/** Parts of the public schemas that the document names. */
const PARTS = {
  ConditionLeaf,
  DeviceFacts,
  FormDecision,
  GateOutcome,
  PropertyLeaf,
  QueuedForm,
  TraitValue,
  Trigger,
  WaitingForm,
}

/** Returns the name of a payload in the document: `FormQueuedPayload`. */
export function payloadNameOf(type: WebhookType): string {
  const words = type.split(/[._]/).map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
  return `${words.join('')}Payload`
}

const PAYLOADS = Object.fromEntries(
  WebhookType.options.map((type) => [payloadNameOf(type), WEBHOOK_PAYLOADS[type]] as const),
)

/** Schemas sorted by name, because a bundler may load the members of a module in another order. */
export const SCHEMAS: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.entries<z.ZodType>({ ...publicApi, ...PARTS, ...PAYLOADS }).toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  ),
)

/** Schemas of parameters, by name. Every route that records takes the header (decisions.md, Retries). */
export const PARAMETERS = {
  'Idempotency-Key': z
    .string()
    .min(1)
    .max(255)
    .regex(/^[\x21-\x7e]+$/)
    .optional(),
  userName: IdentifyUserBody.shape.userName,
  segmentId: SlugId,
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  after: z.string().optional(),
  reason: z.string().optional(),
  erasureId: Uuid,
  formId: SlugId,
  from: Day.optional(),
  to: Day.optional(),
  environment: Environment.default('P'),
  language: LanguageTag.optional(),
  endpointId: SlugId,
  deliveryId: Uuid,
  status: DeliveryStatus.optional(),
  user: Uuid.optional(),
}

export type ParameterName = keyof typeof PARAMETERS

/** Returns references to `X-Request-Id`, which every answer has, and to the headers `names`. */
export function headerRefs(names: readonly string[]): oas32.HeadersObject {
  return Object.fromEntries(['X-Request-Id', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

export function json(schema: z.ZodType, examples: ZodOpenApiExamplesObject): ZodOpenApiContentObject {
  return { 'application/json': { schema, examples } }
}

/**
 * Removes noise: the pattern of a format, and the bounds of a double's whole numbers. In answers and bodies, only
 * strict objects exclude other members.
 */
export const tidySchema: ZodOpenApiOverride = ({ jsonSchema, zodSchema: { _zod: schema } }) => {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (schema.def.type === 'object' && !schema.def.catchall) delete jsonSchema.additionalProperties
}
