import { randomUUIDv7 } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { errorBody, type Refusal } from '../api/refusals.ts'
import { discardBody } from './read-body.ts'
import { UNREAD } from './unread-answers.ts'
import type { Answer } from './route.ts'

/** On every answer. */
export const SECURITY_HEADERS = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' } as const

/** Browsers call the routes for publishable keys, from any origin; admin routes are for servers and have none of this. */
export const CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed',
} as const

const PREFLIGHT_HEADERS = {
  ...CORS_HEADERS,
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': 'Content-Type, X-Api-Key, Idempotency-Key',
  'Access-Control-Max-Age': '86400',
} as const

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Writes an answer or a refusal, with these headers beside its own. False where the caller has left: nothing was written. */
export function writeAnswer(
  response: ServerResponse,
  result: Answer | Refusal,
  headers: Readonly<Record<string, string>>,
): boolean {
  if (response.headersSent || response.destroyed) return false
  const text = result.outcome === 'refused' ? JSON.stringify(errorBody(result.status, result.message)) : textOf(result)
  writeText(response, result.status, text, { 'Content-Type': JSON_TYPE, ...headers, ...result.headers })
  return true
}

/** An answer's body as it is written. */
export function textOf({ body, text }: Answer): string {
  return text ?? JSON.stringify(body)
}

/**
 * Writes a text, or its bytes in UTF-8, of the type that its headers say, and drops what is left of the request. Nothing
 * where the caller has left.
 */
export function writeText(
  response: ServerResponse,
  status: number,
  text: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
): void {
  if (response.destroyed) return
  const bytes = Buffer.byteLength(text)
  response.writeHead(status, { ...SECURITY_HEADERS, 'Content-Length': bytes, ...headers })
  response.end(text)
  if (response.writableLength > 0) response.emit(UNREAD, bytes)
  discardBody(response.req)
}

/** The answer to `OPTIONS`, which browsers send without a key. */
export function writePreflight(response: ServerResponse): void {
  response.writeHead(204, { ...SECURITY_HEADERS, ...PREFLIGHT_HEADERS, 'X-Request-Id': randomUUIDv7() }).end()
  discardBody(response.req)
}
