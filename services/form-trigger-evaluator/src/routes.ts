import { INTERNAL_ROUTES, UserQuery } from '@nextvisit/contracts'
import { type InternalRoute, internalRoute } from '@nextvisit/service-kit'
import type { PrismaClient } from '../generated/prisma/client.ts'
import { readQueue } from './queries.ts'

export function createRoutes(prisma: PrismaClient): readonly InternalRoute[] {
  return [internalRoute(INTERNAL_ROUTES.readQueue, UserQuery, (query) => readQueue(prisma, query))]
}
