import { randomUUIDv7 } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { reportUnread } from '@nextvisit/service-kit'
import { errorBody } from '../../refusals/refusals.ts'
import { discardBody } from '../body/read-body.ts'
import type { Answer, Result } from '../route.ts'

/** Headers of every answer. */
export const SECURITY_HEADERS = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' } as const

/** Headers of the routes for publishable keys, which browsers call from any origin. Admin routes are for servers. */
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

const NO_CONTENT = 204

export const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Writes an answer or a refusal with these and its own headers. Returns false, and writes nothing, if the caller has
 * left.
 */
export function writeAnswer(
  response: ServerResponse,
  result: Result,
  headers: Readonly<Record<string, string>>,
): boolean {
  if (response.headersSent || response.destroyed) return false
  if (result.status === NO_CONTENT) {
    response.writeHead(NO_CONTENT, { ...SECURITY_HEADERS, ...headers }).end()
    discardBody(response.req)
    return true
  }
  const text = result.outcome === 'refused' ? JSON.stringify(errorBody(result.status, result.message)) : textOf(result)
  writeText(response, result.status, text, { 'Content-Type': JSON_TYPE, ...headers, ...result.headers })
  return true
}

/** Returns the text of an answer. */
export function textOf({ body, text }: Answer): string {
  return text ?? JSON.stringify(body)
}

/** Writes a text, or its bytes in UTF-8, and drops the rest of the request. Writes nothing if the caller has left. */
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
  reportUnread(response, bytes)
  discardBody(response.req)
}

/** Answers `OPTIONS`, which browsers send without a key. */
export function writePreflight(response: ServerResponse): void {
  response.writeHead(204, { ...SECURITY_HEADERS, ...PREFLIGHT_HEADERS, 'X-Request-Id': randomUUIDv7() }).end()
  discardBody(response.req)
}
