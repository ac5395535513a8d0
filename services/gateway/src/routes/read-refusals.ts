import { INTERNAL_ROUTES, type RefusalsAnswer, RefusalsQuery } from '@nextvisit/contracts'
import type { RefusalStore } from '@nextvisit/refusals'
import { type InternalRoute, internalRoute } from '@nextvisit/service-kit'

/** What the console asks: what was refused of late in a project, by any gateway, newest first. */
export function createReadRefusals({ read }: Pick<RefusalStore, 'read'>): InternalRoute {
  return internalRoute(
    INTERNAL_ROUTES.readRefusals,
    RefusalsQuery,
    async ({ limit, ...project }): Promise<RefusalsAnswer> => {
      const found = await read(project, Date.now()).catch(() => undefined)
      return { refusals: found?.refusals.slice(0, limit) ?? null }
    },
  )
}
