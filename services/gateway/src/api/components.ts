import {
  ConditionLeaf,
  Definition,
  DeviceFacts,
  FormDecision,
  GateOutcome,
  IdentifyUserBody,
  PropertyLeaf,
  publicApi,
  QueuedForm,
  SlugId,
  TraitValue,
  Trigger,
  WaitingForm,
} from '@nextvisit/contracts'
import { z } from 'zod'
import type { oas32, ZodOpenApiContentObject, ZodOpenApiExamplesObject, ZodOpenApiOverride } from 'zod-openapi'
import { DEFAULT_LIMIT, MAX_LIMIT } from './page-query.ts'

/** Parts of the public schemas that are worth a name in the document. */
const PARTS = {
  ConditionLeaf,
  Definition,
  DeviceFacts,
  FormDecision,
  GateOutcome,
  PropertyLeaf,
  QueuedForm,
  TraitValue,
  Trigger,
  WaitingForm,
}

/** By name: the members of a module come in another order where a bundler loads it. */
export const SCHEMAS: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.entries({ ...publicApi, ...PARTS }).toSorted(([one], [other]) => (one < other ? -1 : 1)),
)

/** The schemas of parameters, by name. The header is that of every route that records (decisions.md, Retries). */
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
}

export type ParameterName = keyof typeof PARAMETERS

/** `X-Request-Id`, which every answer has, and `names`. */
export function headerRefs(names: readonly string[]): oas32.HeadersObject {
  return Object.fromEntries(['X-Request-Id', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

export function json(schema: z.ZodType, examples: ZodOpenApiExamplesObject): ZodOpenApiContentObject {
  return { 'application/json': { schema, examples } }
}

/**
 * Leaves out what says nothing to a reader: a format's own pattern, and the bounds of a double's whole numbers. In an
 * answer as in a body, only a strict object says that it has no other members.
 */
export const tidySchema: ZodOpenApiOverride = ({ jsonSchema, zodSchema: { _zod: schema } }) => {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (schema.def.type === 'object' && !schema.def.catchall) delete jsonSchema.additionalProperties
}
