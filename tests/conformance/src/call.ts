import { STATUS_CODES } from 'node:http'
import { Readable } from 'node:stream'
import { request } from 'undici'
import { expect } from 'vitest'
import { keyNamed } from '@nextvisit/testing/black-box'
import { baseAddress } from './product.ts'

export interface ApiAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Body as received. */
  readonly text: string
  /** Parsed body; an empty object if there is none. */
  readonly body: Readonly<Record<string, unknown>>
}

export interface ApiCall {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'
  readonly path: string
  /** Names and values in turn, so that a name can occur twice. */
  readonly headers?: readonly string[]
  readonly body?: string | Buffer | AsyncIterable<Buffer>
}

export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
export const UUID_V5 = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Sends exactly this request, and checks the promises of every answer (decisions.md, Order of checks). */
export async function call({ method = 'POST', path, headers = [], body }: ApiCall): Promise<ApiAnswer> {
  const response = await request(`${baseAddress().origin}${path}`, {
    method,
    headers: [...headers],
    body:
      body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? (body ?? null) : Readable.from(body),
  })
  const text = await response.body.text()
  const answer: ApiAnswer = {
    status: response.statusCode,
    headers: response.headers,
    text,
    body: (text === '' ? {} : JSON.parse(text)) as ApiAnswer['body'],
  }
  expectPromises(answer, method)
  return answer
}

/** Checks the UUIDv7 in `X-Request-Id`, and the exact form of error bodies, `{status, error, message}`. */
function expectPromises({ status, headers, body }: ApiAnswer, method: string): void {
  expect(headers['x-request-id'], 'X-Request-Id').toMatch(UUID_V7)
  if (status < 400 || method === 'HEAD') return
  expect(body).toEqual({ status, error: STATUS_CODES[status], message: expect.stringMatching(/./) })
  expect(headers['content-type']).toMatch(/^application\/json/)
  if (status === 429 || status === 503) expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
}

export const JSON_TYPE = ['content-type', 'application/json'] as const

/** Posts JSON, or a text instead. */
const post = (variable: string, path: string) => (body: unknown) =>
  call({
    path,
    headers: [...JSON_TYPE, 'x-api-key', keyNamed(variable)],
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

/** Returns functions that call a project's routes. Keys are named by their variables in the workspace file. */
export function callerOf(adminVariable: string, sdkVariable = '') {
  const get = (path: string) => call({ method: 'GET', path, headers: ['x-api-key', keyNamed(adminVariable)] })
  return {
    identify: post(adminVariable, '/v2/admin/identify-user'),
    track: post(adminVariable, '/v2/admin/track-event'),
    visit: post(sdkVariable, '/v2/sdk/identify-user'),
    sdkTrack: post(sdkVariable, '/v2/sdk/track-event'),
    giveAnswers: post(sdkVariable, '/v2/sdk/answers'),
    get,
    readUser: (userName: string) => get(`/v2/admin/users/${encodeURIComponent(userName)}`),
  }
}
export type Caller = ReturnType<typeof callerOf>

/** Returns the expected answer of an error. */
export function errorOf(status: number, message: unknown = expect.any(String)) {
  return { status, body: { status, error: STATUS_CODES[status], message } }
}
