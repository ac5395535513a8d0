import { isStorable } from '@nextvisit/contracts'
import { REFUSALS, type Refusal, refuse } from '../refusals/refusals.ts'

export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 1_000

/**
 * Parses `?limit=` and `?after=`, which every listing takes (decisions.md, Beyond the document). `after`: `next` of the
 * previous page; absent for the first.
 */
export function parsePage(
  parameters: URLSearchParams,
  isCursor = isStorable,
): { readonly outcome: 'page'; readonly query: { readonly limit: number; readonly after?: string } } | Refusal {
  const limit = parseLimit(parameters.get('limit'))
  if (limit === undefined) return refuse(REFUSALS.limit(MAX_LIMIT))
  const after = parameters.get('after')
  if (after === null) return { outcome: 'page', query: { limit } }
  return isCursor(after) ? { outcome: 'page', query: { limit, after } } : refuse(REFUSALS.after)
}

/** Returns the first `limit` entries, and `next` for the answer. */
export function pageOf<Entry extends { readonly id: string }>(
  entries: readonly Entry[],
  limit: number,
): { readonly page: readonly Entry[]; readonly next: string | null } {
  const page = entries.slice(0, limit)
  return { page, next: entries.length > limit ? (page.at(-1)?.id ?? null) : null }
}

function parseLimit(text: string | null): number | undefined {
  if (text === null) return DEFAULT_LIMIT
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= MAX_LIMIT ? limit : undefined
}

/** Hands the mark of an answer on, which may lack the latest records. */
export function staleOf({ stale }: { readonly stale?: true | undefined }): { readonly stale?: true } {
  return stale ? { stale } : {}
}
