import { remainingMs } from '../budget.ts'
import type { Owners } from '../owners.ts'
import { busy } from '../refusal.ts'
import { answer, type Route } from '../route.ts'
import { ROUTES } from '../route-table.ts'

/** `GET /v2/admin/usage`: this month's counters beside the plan's limits, `null` for none. */
export function createGetUsage({ readUsage }: Pick<Owners, 'readUsage'>): Route {
  return {
    ...ROUTES.getUsage,
    handle: async ({ project: { organization, project, plan }, receivedMs, deadlineAt }) => {
      const month = new Date(receivedMs).toISOString().slice(0, 7)
      const usage = await readUsage({ organization, project, month }, remainingMs(deadlineAt))
      if (usage.outcome !== 'found') return busy('This can not be read now: try again')
      const { value: count } = usage
      return answer(200, {
        month: count.month,
        events: { count: count.events, limit: plan.eventsPerMonth ?? null },
        monthlyActiveUsers: { count: count.monthlyActiveUsers, limit: plan.monthlyActiveUsers ?? null },
        uniqueEvents: { count: count.uniqueEvents, limit: plan.uniqueEvents ?? null },
        uniqueTraits: { count: count.uniqueTraits, limit: plan.uniqueTraits ?? null },
      })
    },
  }
}
