import { ErrorBody, type KeyKind } from '@nextvisit/contracts'
import { BODY_RULES } from '@nextvisit/domain'
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import { MAX_BODY_BYTES } from '../http/read-body.ts'
import { REFUSALS } from '../http/refusals.ts'
import { errorBody } from '../http/write-answer.ts'
import { type HeaderName, headerRefs } from './components.ts'
import { type DocumentedAnswer, type DocumentedRefusals, json, refusalsOf } from './operation.ts'

/** What each status means here. */
const STATUSES: Readonly<Record<number, string>> = {
  400: 'Something in the request is wrong, or a limit of the plan is reached.',
  401: 'The key is not valid, or there is no userName, or its signature is wrong.',
  402: "The organization's events of the month are used up.",
  403: 'The key is of the other kind.',
  404: 'There is no such user, or no such segment.',
  405: 'The path does not know the method.',
  408: 'The request did not arrive in time.',
  409: 'A request with the same `Idempotency-Key` is still running.',
  413: 'The body is larger than 100 KB.',
  415: 'The type or the encoding of the body is not supported.',
  417: 'The `Expect` header asks for something unknown.',
  422: 'The `Idempotency-Key` was used for something else.',
  429: "The key's rate limit is reached.",
  431: 'The headers are too large.',
  500: 'Something broke. The cause is in the log, under the request id.',
  503: 'Too many requests at once, or a part that the answer needs is unavailable: retry.',
}

export const RATE_LIMIT_HEADERS: readonly HeaderName[] = ['RateLimit', 'RateLimit-Policy']
/** Statuses of the checks that come before the rate limit is looked at: never with its headers. */
const BEFORE_RATE_LIMIT: readonly number[] = [403, 405, 408, 417, 431]

const { notHttp, noHost, tooSlow, expectation, headersTooLarge, broken } = REFUSALS

/** Whatever the route: what the HTTP parser refuses, and what breaks. */
export function everyRoute(methods: readonly string[]): DocumentedRefusals {
  const otherMethod = REFUSALS.otherMethod(methods)
  return { notHttp, noHost, otherMethod, tooSlow, expectation, headersTooLarge, broken }
}

/** Of routes that take a key, in the order of the checks. */
export function keyedRoute(kind: KeyKind): DocumentedRefusals {
  const { key, busy, noCatalog } = REFUSALS
  return { key, kindOfKey: REFUSALS.kindOfKey(kind), tooFast: REFUSALS.tooFast(100), busy, noCatalog }
}

const { notGzip, contentType, contentEncoding, idempotencyKey, stillRunning, keyOfAnother, notRecorded } = REFUSALS
const BODY = 'The body'

/** Of routes that take a body and record something. */
export const RECORDING_ROUTE: DocumentedRefusals = {
  ...refusalsOf({
    notJson: BODY_RULES.notJson(BODY),
    notAnObject: BODY_RULES.notAnObject(BODY),
    notUtf8: BODY_RULES.notUtf8(BODY),
  }),
  notGzip,
  ...refusalsOf({ tooDeep: BODY_RULES.tooDeep(BODY), notStorable: BODY_RULES.notStorable(BODY) }),
  tooLarge: REFUSALS.tooLarge(MAX_BODY_BYTES),
  contentType,
  contentEncoding,
  idempotencyKey,
  stillRunning,
  keyOfAnother,
  notRecorded,
}

/** Of routes that only read. */
export const READING_ROUTE: DocumentedRefusals = { notRead: REFUSALS.notRead }

export function answerResponse({ description, headers = [], content }: DocumentedAnswer): ZodOpenApiResponseObject {
  return { description, headers: headerRefs(['X-Request-Id', ...headers]), ...(content && { content }) }
}

/** One response a status, with an example for each refusal of it. */
export function refusalResponses(refusals: DocumentedRefusals, isRateLimited: boolean): ZodOpenApiResponsesObject {
  const byStatus = Map.groupBy(Object.entries(refusals), ([, { status }]) => status)
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => {
      const limited = isRateLimited && !BEFORE_RATE_LIMIT.includes(status) ? RATE_LIMIT_HEADERS : []
      const examples = ofStatus.map(
        ([name, { when, message }]) => [name, { summary: when, value: errorBody(status, message) }] as const,
      )
      return [
        status,
        {
          description: STATUSES[status] ?? 'Refused.',
          headers: headerRefs(['X-Request-Id', ...ownHeaders(status), ...limited]),
          content: json(ErrorBody, Object.fromEntries(examples)),
        },
      ]
    }),
  )
}

function ownHeaders(status: number): readonly HeaderName[] {
  if (status === 405) return ['Allow']
  return status === 429 || status === 503 ? ['Retry-After'] : []
}
