import { type gatewayCalls, ROUTES, Uuid } from '@nextvisit/contracts'
import type { Handlers, RefusalStore } from '@nextvisit/service-kit'
import { pageOf, parsePage } from './page-query.ts'
import { REASONS, REFUSALS, refuse } from '../refusals/refusals.ts'
import { answer, type Route } from '../http/route.ts'

/** Creates `GET /v2/admin/refusals`: recent refusals of all gateways (decisions.md, Refusals). */
export function createListRefusals({ read }: Pick<RefusalStore, 'read'>): Route {
  return {
    ...ROUTES.listRefusals,
    handle: async ({ parameters, project, receivedMs }) => {
      const parsed = parsePage(parameters, (after) => Uuid.safeParse(after).success)
      if (parsed.outcome === 'refused') return parsed
      const reason = parameters.get('reason') ?? undefined
      if (reason !== undefined && !REASONS.has(reason)) return refuse(REFUSALS.reason)
      const found = await read(project, receivedMs, reason).catch(() => undefined)
      if (!found) return refuse(REFUSALS.notRead('list of refusals'))
      const { limit, after } = parsed.query
      const rest = after === undefined ? found.refusals : found.refusals.filter(({ id }) => id < after)
      const { page, next } = pageOf(rest, limit)
      return answer(200, { refusals: page, counts: found.counts, next })
    },
  }
}

/** Answers calls about the refusals of all gateways. */
export function answerRefusals({
  read,
}: Pick<RefusalStore, 'read'>): Pick<Handlers<typeof gatewayCalls>, 'readRefusals'> {
  return {
    readRefusals: async ({ limit, userId, ...project }) => {
      const found = await read(project, Date.now()).catch(() => undefined)
      const wanted = found?.refusals.filter((one) => userId === undefined || one.userId === userId)
      return { refusals: wanted?.slice(0, limit) ?? null }
    },
  }
}
