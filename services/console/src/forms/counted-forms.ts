import { MAX_FUNNELS_ASKED, type ProjectRef } from '@nextvisit/contracts'
import { projectKeyOf } from '@nextvisit/domain'
import type { Dependencies } from '../dependencies.ts'
import { answered, type ApiResult } from '../http/api-route.ts'

/** As often as the list of forms reloads. */
const KEPT_MS = 10_000
const MAX_PROJECTS = 1_000
const MAX_FORMS = 1_000
/** Time limit for all pages of a read: as for one call. */
const WITHIN_MS = 3_000

/**
 * Creates a function that reads the ids of the forms with counts: at most {@link MAX_FORMS}, the first by id. The collector adds up
 * the counts of all of them, so the ids of a project are kept for ten seconds.
 */
export function createReadCountedForms(
  {
    collector,
    nowMs,
    withinMs = WITHIN_MS,
  }: Pick<Dependencies, 'collector' | 'nowMs'> & { readonly withinMs?: number },
  kept = new Map<string, { readonly ids: readonly string[]; readonly readAtMs: number }>(),
) {
  /** Entries are in the order of their reads. Old ones are of no use, and only take memory. */
  function keep(key: string, ids: readonly string[]): void {
    for (const [old, { readAtMs }] of kept) {
      if (nowMs() - readAtMs < KEPT_MS) break
      kept.delete(old)
    }
    kept.delete(key)
    kept.set(key, { ids, readAtMs: nowMs() })
    const [oldest] = kept.keys()
    if (kept.size > MAX_PROJECTS && oldest !== undefined) kept.delete(oldest)
  }

  return async ({ organization, project }: ProjectRef, signal: AbortSignal): Promise<ApiResult<readonly string[]>> => {
    const key = projectKeyOf({ organization, project })
    const known = kept.get(key)
    if (known && nowMs() - known.readAtMs < KEPT_MS) return answered(known.ids)
    const ids: string[] = []
    let after: string | undefined
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(withinMs)])
    do {
      // Forms with counts in the other environment are listed, too.
      const query = { organization, project, environment: 'P' as const, limit: MAX_FUNNELS_ASKED, after }
      const read = await collector.readFormFunnels(query, inTime)
      if (read.outcome === 'refused') return read
      ids.push(...read.answer.forms.map(({ formId }) => formId))
      after = read.answer.next ?? undefined
    } while (after !== undefined && ids.length < MAX_FORMS)
    keep(key, ids)
    return answered(ids)
  }
}
