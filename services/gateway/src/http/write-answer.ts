import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Refusal } from '../refusal.ts'
import type { Answer } from '../route.ts'

/** Whatever the answer. */
export const SECURITY_HEADERS = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' } as const

const JSON_TYPE = 'application/json; charset=utf-8'

/** The body of every error: exactly these three (decisions.md, Order of checks). */
export function errorBody(status: number, message: string): object {
  return { status, error: STATUS_CODES[status] ?? 'Error', message }
}

/** Writes an answer or a refusal, with these headers beside its own. False where the caller is gone: nothing was written. */
export function writeAnswer(
  response: ServerResponse,
  result: Pick<Answer, 'outcome' | 'status' | 'headers' | 'body'> | Refusal,
  headers: Readonly<Record<string, string>>,
): boolean {
  if (response.headersSent || response.destroyed) return false
  const body = result.outcome === 'refused' ? errorBody(result.status, result.message) : result.body
  writeText(response, result.status, JSON.stringify(body), { 'Content-Type': JSON_TYPE, ...headers, ...result.headers })
  return true
}

/** Writes a text of the type that its headers say. */
export function writeText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, { ...SECURITY_HEADERS, 'Content-Length': Buffer.byteLength(text), ...headers })
  response.end(text)
}
