import type { CatalogView } from '@nextvisit/catalog'
import { INTERNAL_ROUTES, ReleaseRequest, ReserveRequest, UsageQuery } from '@nextvisit/contracts'
import { type InternalRoute, internalRoute } from '@nextvisit/service-kit'
import type { PrismaClient } from '../generated/prisma/client.ts'
import { release, reserve } from './ledger.ts'
import { readUsage } from './queries.ts'

export interface RoutesOptions {
  readonly prisma: PrismaClient
  readonly catalog: CatalogView
  readonly now: () => Date
}

/** What other services may ask of this one. */
export function createRoutes({ prisma, catalog, now }: RoutesOptions): InternalRoute[] {
  return [
    internalRoute(INTERNAL_ROUTES.reserve, ReserveRequest, async ({ reservations }) => ({
      verdicts: await reserve(prisma, reservations, now()),
    })),
    internalRoute(INTERNAL_ROUTES.release, ReleaseRequest, async ({ recordIds }) => {
      await release(prisma, recordIds)
      return {}
    }),
    internalRoute(INTERNAL_ROUTES.readUsage, UsageQuery, (query) => {
      const project = catalog.project(query.organization, query.project)
      return readUsage(prisma, query, project?.disabledTraits ?? new Set())
    }),
  ]
}
