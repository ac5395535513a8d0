import {
  ConditionLeaf,
  Definition,
  DeviceFacts,
  FormDecision,
  GateOutcome,
  publicApi,
  QueuedForm,
  TraitValue,
  Trigger,
  WaitingForm,
} from '@nextvisit/contracts'
import type { z } from 'zod'
import type { oas32, ZodOpenApiOverride, ZodOpenApiSecuritySchemeObject } from 'zod-openapi'

/** Parts of the public schemas that are worth a name in the document. */
const PARTS = {
  ConditionLeaf,
  Definition,
  DeviceFacts,
  FormDecision,
  GateOutcome,
  QueuedForm,
  TraitValue,
  Trigger,
  WaitingForm,
}

/** By name: the members of a module come in another order where a bundler loads it. */
export const SCHEMAS: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.entries({ ...publicApi, ...PARTS }).toSorted(([one], [other]) => (one < other ? -1 : 1)),
)

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

export const HEADERS = {
  'X-Request-Id': {
    description:
      "On every response. The id of the record that the request became: UUIDv7, or UUIDv5 where an `Idempotency-Key` was given. Name it when you ask for help: it is in the gateway's log.",
    required: true,
    schema: { type: 'string', format: 'uuid' },
    example: '019aa5b2-7c1e-7d3a-9f60-2b4c8e1d5a77',
  },
  RateLimit: {
    description: 'What the key has left (`r`), and in how many seconds it gets more (`t`).',
    schema: { type: 'string' },
    example: '"admin";r=199;t=1',
  },
  'RateLimit-Policy': {
    description:
      'What the key may do: a burst of `q` requests, which is refilled evenly within `w` seconds. Admin and SDK keys are counted apart.',
    schema: { type: 'string' },
    example: '"admin";q=200;w=2',
  },
  'Retry-After': {
    description: 'Retry after this many seconds.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  'Idempotent-Replayed': {
    description:
      'Present where the answer is that of an earlier request with the same `Idempotency-Key`, byte for byte.',
    schema: { type: 'string', const: 'true' },
    example: 'true',
  },
  Allow: {
    description: 'The methods that the path knows.',
    required: true,
    schema: { type: 'string' },
    example: 'POST',
  },
  'Access-Control-Allow-Origin': {
    description: 'Any origin may call the routes for publishable keys.',
    required: true,
    schema: { type: 'string', const: '*' },
    example: '*',
  },
  'Access-Control-Allow-Methods': {
    description: 'The method of the route.',
    required: true,
    schema: { type: 'string' },
    example: 'POST',
  },
  'Access-Control-Allow-Headers': {
    description: 'The headers that a page may send.',
    required: true,
    schema: { type: 'string' },
    example: 'Content-Type, X-Api-Key, Idempotency-Key',
  },
} as const satisfies Record<string, oas32.HeaderObject>

export type HeaderName = keyof typeof HEADERS

export function headerRefs(names: readonly HeaderName[]): oas32.HeadersObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

export const SECURITY_SCHEMES = {
  AdminKey: apiKey('An admin key (`nv_admin_…`), secret: for servers only.'),
  SdkKey: apiKey('A publishable key (`nv_sdk_…`): for pages and apps.'),
}

function apiKey(description: string): ZodOpenApiSecuritySchemeObject {
  return { type: 'apiKey', in: 'header', name: 'X-Api-Key', description }
}
