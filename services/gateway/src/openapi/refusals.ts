import type { DocumentedRefusal } from './operation.ts'

/** What each status means here. */
export const STATUSES: Readonly<Record<number, string>> = {
  400: 'Something in the request is wrong, or a limit of the plan is reached.',
  401: 'There is no valid key, or nobody to speak of.',
  402: "The organization's events of the month are used up.",
  403: 'The key is of the other kind.',
  404: 'There is no such user, or no such segment.',
  405: 'The path does not know the method.',
  408: 'The request did not arrive in time.',
  409: 'A request with the same `Idempotency-Key` is still running.',
  413: 'The body is larger than 100 KB.',
  415: 'The body is of a type or in an encoding that is not taken.',
  417: 'The request expects what no server does.',
  422: 'The `Idempotency-Key` was used for something else.',
  429: "The key's rate limit is reached.",
  431: 'The headers are too large.',
  500: 'Something broke. The cause is in the log, under the request id.',
  503: 'Too much at once, or something that the answer needs is away: come again.',
}

/** Whatever the route: what the HTTP parser refuses, and what breaks. */
export function everyRoute(methods: readonly string[]): readonly DocumentedRefusal[] {
  return [
    refusal(400, 'notHttp', 'No valid HTTP', 'This is not a valid HTTP request'),
    refusal(400, 'noHost', 'HTTP/1.1 without Host', 'The Host header must be given'),
    refusal(405, 'otherMethod', 'Another method', `Use ${methods.join(' or ')}`),
    refusal(408, 'tooSlow', 'Sent too slowly', 'The request did not arrive in time'),
    refusal(417, 'expectation', 'An unknown `Expect`', 'Expect must be 100-continue or absent'),
    refusal(431, 'headersTooLarge', 'More than 16 KB of headers', 'The headers are too large'),
    refusal(500, 'broken', 'Something broke', 'Internal Server Error'),
  ]
}

/** Of routes that take a key, in the order of the checks. */
export function keyedRoute(kind: 'admin' | 'sdk'): readonly DocumentedRefusal[] {
  const wanted = kind === 'admin' ? 'an admin key' : 'a publishable SDK key'
  return [
    refusal(401, 'key', 'A key that is missing, malformed, unknown or revoked', 'Invalid or missing API key'),
    refusal(403, 'kindOfKey', 'The other kind of key', `This route needs ${wanted}`),
    refusal(429, 'tooFast', 'Faster than the key may be', 'At most 100 requests a second with this key: slow down'),
    refusal(503, 'busy', 'More requests at once than the gateway takes', 'Too many requests at once: try again'),
    refusal(503, 'noCatalog', 'A gateway that has just started', 'Keys were not read yet: try again'),
  ]
}

/** Of routes that take a body and record something. */
export const RECORDING_ROUTE: readonly DocumentedRefusal[] = [
  refusal(400, 'notJson', 'No JSON', 'The body must be JSON'),
  refusal(400, 'notAnObject', 'JSON that is no object', 'The body must be a JSON object'),
  refusal(400, 'notUtf8', 'Bytes that are no UTF-8', 'The body must be UTF-8'),
  refusal(400, 'notGzip', 'Wrong `Content-Encoding`', 'The body must be valid gzip, as its Content-Encoding says'),
  refusal(400, 'tooDeep', 'Too many levels', 'The body must not be nested deeper than 8'),
  refusal(
    400,
    'notStorable',
    'A string that could not be stored',
    'The body must hold no U+0000 and no lone surrogates in its strings',
  ),
  refusal(413, 'tooLarge', 'A body of more than 102,400 bytes, inflated', 'The body must be at most 102400 bytes'),
  refusal(415, 'contentType', 'Another type, or none', 'Content-Type must be application/json'),
  refusal(415, 'contentEncoding', 'Another encoding', 'Content-Encoding must be gzip or absent'),
  refusal(
    400,
    'idempotencyKey',
    'A malformed `Idempotency-Key`',
    'Idempotency-Key must be 1 to 255 visible ASCII characters',
  ),
  refusal(
    409,
    'stillRunning',
    'The first request is not answered yet',
    'Idempotency-Key is of a request that is still running: try again',
  ),
  refusal(
    422,
    'keyOfAnother',
    'The same key with another body or route',
    'Idempotency-Key was used with another body or route: choose a new one',
  ),
  refusal(503, 'notRecorded', 'The log is away', 'This could not be recorded now: try again'),
]

/** Of routes that only read. */
export const READING_ROUTE: readonly DocumentedRefusal[] = [
  refusal(503, 'notRead', 'What would be read is away', 'This can not be read now: try again'),
]

export function refusal(status: number, name: string, when: string, message: string): DocumentedRefusal {
  return { status, name, when, message }
}
