import { ClaimRequest, DefinitionsQuery, INTERNAL_ROUTES, RoomRequest } from '@nextvisit/contracts'
import { type InternalRoute, internalRoute } from '@nextvisit/service-kit'
import type { PrismaClient } from '../generated/prisma/client.ts'
import { claimNames } from './claims.ts'
import { findRoom, readDefinitions } from './queries.ts'

export interface RoutesOptions {
  readonly prisma: PrismaClient
  readonly now: () => Date
}

/** What other services may ask of this one. */
export function createRoutes({ prisma, now }: RoutesOptions): InternalRoute[] {
  return [
    internalRoute(INTERNAL_ROUTES.claim, ClaimRequest, async ({ claims }) => ({
      verdicts: await claimNames(prisma, claims, now()),
    })),
    internalRoute(INTERNAL_ROUTES.findRoom, RoomRequest, async ({ events }) => ({
      hasRoom: await findRoom(prisma, events),
    })),
    internalRoute(INTERNAL_ROUTES.readDefinitions, DefinitionsQuery, (query) => readDefinitions(prisma, query)),
  ]
}
