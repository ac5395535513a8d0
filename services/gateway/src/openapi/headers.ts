import type { HeaderObject, ParameterObject, Reference } from './open-api.ts'

/** `components.headers`. */
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
    required: false,
    schema: { type: 'string' },
    example: '"admin";r=199;t=1',
  },
  'RateLimit-Policy': {
    description:
      'What the key may do: a burst of `q` requests, which is refilled evenly within `w` seconds. Admin and SDK keys are counted apart.',
    required: false,
    schema: { type: 'string' },
    example: '"admin";q=200;w=2',
  },
  'Retry-After': {
    description: 'Come again after as many seconds.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  'Idempotent-Replayed': {
    description: 'There where the answer is that of an earlier request with the same `Idempotency-Key`, byte for byte.',
    required: false,
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
} as const satisfies Record<string, HeaderObject>

export type HeaderName = keyof typeof HEADERS

export function headerRefs(names: readonly HeaderName[]): Readonly<Record<string, Reference>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The request header of every route that records something (decisions.md, Retries). */
export const IDEMPOTENCY_KEY: ParameterObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    "A name of your own for this request, the project's own. A repeat within 24 hours gets the first 2xx answer again and counts nothing.",
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  example: 'order-4711-paid',
}
