import { type Refusal, refuse } from '../refusal.ts'

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000

/** A page of a listing that is asked for: how many at most, and what it comes after. */
export interface Page {
  readonly outcome: 'page'
  readonly limit: number
  /** `next` of the page before; absent: this is the first. */
  readonly after?: string
}

/** `?limit=` and `?after=`, as every listing takes them (decisions.md, Beyond the document). */
export function parsePage(query: URLSearchParams, isCursor: (after: string) => boolean = isStorable): Page | Refusal {
  const limit = parseLimit(query.get('limit'))
  if (limit === undefined) return refuse(400, `limit must be a whole number from 1 to ${MAX_LIMIT}`)
  const after = query.get('after')
  if (after === null) return { outcome: 'page', limit }
  return isCursor(after)
    ? { outcome: 'page', limit, after }
    : refuse(400, 'after must be what next was in the answer before')
}

function isStorable(after: string): boolean {
  return !after.includes('\u0000')
}

function parseLimit(text: string | null): number | undefined {
  if (text === null) return DEFAULT_LIMIT
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= MAX_LIMIT ? limit : undefined
}
