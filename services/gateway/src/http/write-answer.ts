import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Refusal } from '../refusal.ts'
import type { Answer } from '../route.ts'

/** Whatever the answer. */
export const SECURITY_HEADERS = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' } as const

/** The body of every error: exactly these three (decisions.md, Order of checks). */
export function errorBody(status: number, message: string): object {
  return { status, error: STATUS_CODES[status] ?? 'Error', message }
}

/** Writes an answer or a refusal, with these headers beside its own. Does nothing where the caller is gone. */
export function writeAnswer(
  response: ServerResponse,
  result: Pick<Answer, 'outcome' | 'status' | 'headers' | 'body'> | Refusal,
  headers: Readonly<Record<string, string>>,
): void {
  if (response.headersSent || response.destroyed) return
  const body = result.outcome === 'refused' ? errorBody(result.status, result.message) : result.body
  const text = JSON.stringify(body)
  response.writeHead(result.status, {
    ...SECURITY_HEADERS,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
    ...result.headers,
  })
  response.end(text)
}
