import { STATUS_CODES, type ServerResponse } from 'node:http'
import { discardBody } from './read-body.ts'
import type { Refusal } from './refusals.ts'

export interface Answer {
  readonly outcome: 'answered'
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object
  /** Runs once the answer is written; the caller does not wait for it. Must not reject. */
  readonly afterwards?: () => Promise<void>
}

/** On every answer. */
export const SECURITY_HEADERS = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' } as const

/** Browsers call the routes for publishable keys, from any origin; admin routes are for servers and have none of this. */
export const CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed',
} as const

export const JSON_TYPE = 'application/json; charset=utf-8'

export function answer(status: number, body: object): Answer {
  return { outcome: 'answered', status, body }
}

/** The body of every error: exactly these three members (decisions.md, Order of checks). */
export function errorBody(status: number, message: string): object {
  return { status, error: STATUS_CODES[status] ?? 'Error', message }
}

/** Writes an answer or a refusal, with these headers beside its own. False where the caller has left: nothing was written. */
export function writeAnswer(
  response: ServerResponse,
  result: Answer | Refusal,
  headers: Readonly<Record<string, string>>,
): boolean {
  if (response.headersSent || response.destroyed) return false
  const body = result.outcome === 'refused' ? errorBody(result.status, result.message) : result.body
  writeText(response, result.status, JSON.stringify(body), { 'Content-Type': JSON_TYPE, ...headers, ...result.headers })
  return true
}

/** Writes a text of the type that its headers say, and drops what is left of the request. */
export function writeText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, { ...SECURITY_HEADERS, 'Content-Length': Buffer.byteLength(text), ...headers })
  response.end(text)
  discardBody(response.req)
}
