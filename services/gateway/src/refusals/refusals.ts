import { STATUS_CODES } from 'node:http'
import { type KeyKind, type LimitReason, withSeparators } from '@nextvisit/contracts'
import {
  ANSWER_RULES,
  BODY_RULES,
  type BodyRule,
  nameRules,
  type Rejection,
  type RuleName,
  SEGMENT_COM_RULES,
} from '@nextvisit/domain'
import { PARAMETER_REFUSALS } from './parameter-refusals.ts'
import type { ReadPart } from './read-part.ts'
import { WEBHOOK_REFUSALS } from './webhook-refusals.ts'

/** Maximum number of pieces of a body. Each costs some µs: 100 KB in chunks of one byte would cost 400 ms. */
export const MAX_BODY_PIECES = 1_024

/** Maximum number of suppressed users of a project. Each gateway and each import has all of them in memory. */
export const MAX_SUPPRESSED_USERS = 100_000

/** A rule of the gateway that a request can break. */
export interface RefusalRule extends Partial<RuleName> {
  readonly status: number
  /** Names the wrong part and says how to correct it. */
  readonly message: string
  /** Describes the requests that it refuses, for the API's document. */
  readonly when: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * A refused request or item. Its body is `{ status, error, message }`. Without `reason`, only items of it were refused.
 */
export interface Refusal extends Partial<RuleName> {
  readonly outcome: 'refused'
  readonly status: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Reasons of `/readyz`, under the names of their examples in the document. */
export const UNAVAILABLE_REASONS = {
  noCatalog: 'The catalog was not read yet',
  noErasures: 'The erasures were not read yet',
  noLog: 'Kafka is unavailable',
} as const

const KEY_NAMES: Readonly<Record<KeyKind, string>> = { admin: 'an admin key', sdk: 'a publishable SDK key' }

/**
 * All refusals except the body's own rules (`BODY_RULES`), in the order of the checks (decisions.md, Order of checks;
 * `order-of-checks.int.spec.ts`). Handlers answer with them and the OpenAPI document shows them. Refusals that depend on
 * the request are functions.
 */
export const REFUSALS = nameRules({
  // By the HTTP parser, before there is a request.
  notHttp: { status: 400, message: 'This is not a valid HTTP request', when: 'Invalid HTTP' },
  noHost: { status: 400, message: 'The Host header must be given', when: 'HTTP/1.1 without Host' },
  tooSlow: { status: 408, message: 'The request did not arrive in time', when: 'Sent too slowly' },
  expectation: { status: 417, message: 'Expect must be 100-continue or absent', when: 'An unknown `Expect`' },
  headersTooLarge: { status: 431, message: 'The headers are too large', when: 'More than 16 KB of headers' },

  // Any route.
  broken: { status: 500, message: 'Internal Server Error', when: 'An internal error' },
  busy: {
    status: 503,
    message: 'Too many requests at once: try again',
    when: 'Too many requests at once, or too many reads or large bodies of one key',
  },
  noRoute: { status: 404, message: 'There is no such route', when: 'An unknown path' },
  otherMethod: (methods: readonly string[]) => ({
    status: 405,
    message: `Use ${methods.join(' or ')}`,
    when: 'Another method',
    headers: { Allow: methods.join(', ') },
  }),
  path: { status: 400, message: 'The path must be valid percent-encoding', when: 'A path that cannot be decoded' },
  /** The answer of `/readyz`, with {@link UNAVAILABLE_REASONS} among its reasons. */
  notReady: (reasons: readonly string[]) => ({
    status: 503,
    message: reasons.join('; '),
    when: 'Requests would not succeed now',
  }),

  // The key.
  noCatalog: { status: 503, message: 'Keys were not read yet: try again', when: 'A gateway that has just started' },
  key: {
    status: 401,
    message: 'Invalid or missing API key',
    when: 'A key that is missing, malformed, unknown or revoked',
  },
  kindOfKey: (wanted: KeyKind) => ({
    status: 403,
    message: `This route needs ${KEY_NAMES[wanted]}`,
    when: 'The other kind of key',
  }),
  mayErase: {
    status: 403,
    message: 'This route needs a key with mayErase: true in the workspace file',
    when: 'A key without `mayErase`',
  },
  /** The headers of the rate limit include `Retry-After`. */
  tooFast: (perSecond: number) => ({
    status: 429,
    message: `At most ${perSecond} requests a second with this key, and fewer large ones: slow down`,
    when: "Above the key's rate limit",
  }),

  // The body, before its own rules.
  contentType: {
    status: 415,
    message: 'Content-Type must be application/json, in UTF-8',
    when: 'Another type or charset, or none',
  },
  contentEncoding: { status: 415, message: 'Content-Encoding must be gzip or absent', when: 'Another encoding' },
  unfinishedBodies: {
    status: 429,
    message: 'Too many requests of this key have not arrived completely: finish them first',
    when: 'Many requests of one key, each sent slowly',
    headers: { 'Retry-After': '1' },
  },
  tooLarge: (maxBytes: number) => ({
    status: 413,
    message: `The body must be at most ${maxBytes} bytes`,
    when: `A body of more than ${maxBytes.toLocaleString('en')} bytes, inflated`,
  }),
  bodyTooSlow: {
    status: 408,
    message: 'The body must arrive within 2 seconds of the headers',
    when: 'A body that is sent too slowly',
    headers: { Connection: 'close' },
  },
  tooManyPieces: {
    status: 400,
    message: `The body must arrive in at most ${MAX_BODY_PIECES} chunks: send larger ones`,
    when: 'A body in thousands of tiny chunks',
    headers: { Connection: 'close' },
  },
  tooManyBytes: {
    status: 503,
    message: 'Too many bytes at once: try again',
    when: 'More bytes of bodies than the gateway buffers at once',
  },
  notGzip: {
    status: 400,
    message: 'The body must be valid gzip, as its Content-Encoding says',
    when: 'Wrong `Content-Encoding`',
  },

  // The parameters of a read.
  ...PARAMETER_REFUSALS,

  // The proof that a request may speak for its user.
  signature: {
    status: 401,
    message: 'userSignature must be the HMAC-SHA256 of userName, in hex',
    when: 'A required signature that is missing or wrong',
  },
  signatureUnverifiable: {
    status: 503,
    message: 'userSignature cannot be checked now: try again',
    when: "The service cannot decrypt the project's signing secret",
  },

  // The suppression of the user (decisions.md, Erasure). Before Idempotency-Key: a repeat is refused, too.
  noErasures: {
    status: 503,
    message: 'Suppressed users were not read yet: try again',
    when: 'A gateway that has just started',
  },
  suppressed: { status: 403, message: 'User is suppressed', when: 'A user who was erased with `suppress`' },

  // Idempotency-Key (decisions.md, Retries).
  idempotencyKey: {
    status: 400,
    message: 'Idempotency-Key must be 1 to 255 visible ASCII characters',
    when: 'A malformed `Idempotency-Key`',
  },
  stillRunning: {
    status: 409,
    message: 'A request with this Idempotency-Key is still running: try again',
    when: 'The first request is not answered yet',
  },
  keyOfAnother: {
    status: 422,
    message: 'Idempotency-Key was used with another body or route: choose a new one',
    when: 'The same key with another body or route',
  },

  // Policy.
  user: { status: 404, message: 'User not found', when: 'A user that was never identified' },
  erasure: { status: 404, message: 'Erasure not found', when: 'An erasure that the project does not have' },
  suppressions: {
    status: 400,
    message: `A project may have at most ${withSeparators(MAX_SUPPRESSED_USERS)} suppressed users: delete suppressions, or erase without suppress`,
    when: 'A `suppress` of more users than a project may have',
  },
  notSuppressed: { status: 404, message: 'User is not suppressed', when: 'A user who is not suppressed' },
  form: { status: 404, message: 'Form not found', when: 'A form that the project never had' },
  segment: { status: 404, message: 'Segment not found', when: 'A segment that the project does not have' },
  webhook: {
    status: 404,
    message: 'Webhook endpoint not found',
    when: 'An endpoint that the workspace file does not have',
  },
  delivery: {
    status: 404,
    message: 'Delivery not found',
    when: 'A delivery that the endpoint does not have, or not any more',
  },
  ...WEBHOOK_REFUSALS,
  disabled: { status: 400, ...BODY_RULES.disabled },
  eventLimit: {
    status: 402,
    message: 'Event tracking limit reached for this organization',
    when: "The organization's events of the month, environment P",
  },
  uniqueEvents: {
    status: 400,
    message: 'Unique tracked events limit reached for your plan',
    when: "A new name over the plan's cap, environment P",
  },
  newEvent: {
    status: 400,
    message: 'eventName must name an event that this project knows: clients do not create new ones',
    when: 'A new name, if clients may not create events',
  },
  mau: {
    status: 400,
    message: 'Monthly active users limit reached for your plan',
    when: "The project's active users of the month",
  },

  // Unavailable parts.
  notRecorded: { status: 503, message: 'This could not be recorded now: try again', when: 'The log is unavailable' },
  notRead: (part: ReadPart) => ({
    status: 503,
    message: `This cannot be read now, because the ${part} is late or unavailable: try again`,
    when: 'The part that the message names is late or unavailable',
  }),
  notDone: (part: ReadPart) => ({
    status: 503,
    message: `This could not be done now, because the ${part} is late or unavailable: try again`,
    when: 'The part that the message names is late or unavailable. The command may have had its effect',
  }),
}) satisfies { readonly [Reason in LimitReason]: RefusalRule }

/** Names of all refusals. */
export const REASONS: ReadonlySet<string> = new Set(
  [REFUSALS, BODY_RULES, ANSWER_RULES, SEGMENT_COM_RULES].flatMap(Object.keys),
)

/** Refuses by a rule, such as `REFUSALS.key` or `REFUSALS.tooFast(100)`. A 503 has `Retry-After: 1`. */
export function refuse({ status, message, reason, member, headers }: Omit<RefusalRule, 'when'>): Refusal {
  const all = { ...(status === 503 && { 'Retry-After': '1' }), ...headers }
  return {
    outcome: 'refused',
    status,
    message,
    ...(reason !== undefined && { reason }),
    ...(member !== undefined && { member }),
    ...(Object.keys(all).length > 0 && { headers: all }),
  }
}

/** Refuses a body by one of its own rules. */
export function refuseBody(rejection: Rejection): Refusal {
  return refuse(withStatus(rejection))
}

/** Returns a body's rule, or a rejection by it, with the status of its refusal. */
export function withStatus<Rule extends Omit<BodyRule, 'when'>>(rule: Rule): Rule & { readonly status: number } {
  return { ...rule, status: rule.status ?? 400 }
}

/** Returns the body of an error: exactly these three members (decisions.md, Order of checks). */
export function errorBody(status: number, message: string): object {
  return { status, error: STATUS_CODES[status] ?? 'Error', message }
}
