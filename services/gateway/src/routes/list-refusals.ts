import { Uuid } from '@nextvisit/contracts'
import { BODY_RULES, SEGMENT_RULES } from '@nextvisit/domain'
import { answer, parsePage, REFUSALS, refuse, ROUTES } from '@nextvisit/public-api'
import type { RefusalStore } from '@nextvisit/refusals'
import type { Route } from '../request/route.ts'

const REASONS: ReadonlySet<string> = new Set([REFUSALS, BODY_RULES, SEGMENT_RULES].flatMap(Object.keys))

/** `GET /v2/admin/refusals`: what was refused of late, by any gateway (decisions.md, Refusals). */
export function createListRefusals({ read }: Pick<RefusalStore, 'read'>): Route {
  return {
    ...ROUTES.listRefusals,
    handle: async ({ parameters, project, receivedMs }) => {
      const page = parsePage(parameters, (after) => Uuid.safeParse(after).success)
      if (page.outcome === 'refused') return page
      const reason = parameters.get('reason') ?? undefined
      if (reason !== undefined && !REASONS.has(reason)) return refuse(REFUSALS.reason)
      const found = await read(project, receivedMs, reason).catch(() => undefined)
      if (!found) return refuse(REFUSALS.notRead)
      const { limit, after } = page.query
      const rest = after === undefined ? found.refusals : found.refusals.filter(({ id }) => id < after)
      const refusals = rest.slice(0, limit)
      const next = rest.length > limit ? (refusals.at(-1)?.id ?? null) : null
      return answer(200, { refusals, counts: found.counts, next })
    },
  }
}
