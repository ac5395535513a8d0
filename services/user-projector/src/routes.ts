import { INTERNAL_ROUTES, LookUpUsersRequest, UserQuery } from '@nextvisit/contracts'
import { type InternalRoute, internalRoute, notFound } from '@nextvisit/service-kit'
import type { PrismaClient } from '../generated/prisma/client.ts'
import { readExistence, readUser } from './queries.ts'

export interface RoutesOptions {
  readonly prisma: PrismaClient
  /** Resolves once everything that was in these partitions of `user-events` when it was called is folded. */
  readonly barrier: (partitions: readonly number[], signal: AbortSignal) => Promise<void>
}

/** What other services may ask of this one. */
export function createRoutes({ prisma, barrier }: RoutesOptions): InternalRoute[] {
  return [
    internalRoute(INTERNAL_ROUTES.lookUpUsers, LookUpUsersRequest, async ({ users }, { signal }) => {
      const exists = await readExistence(prisma, users)
      // Users never vanish, so only for the others does it matter what is not folded yet.
      const unknown = users.filter((_user, index) => !exists[index])
      if (unknown.length === 0) return { exists }
      await barrier([...new Set(unknown.map((user) => user.partition))], signal)
      return { exists: await readExistence(prisma, users) }
    }),
    internalRoute(INTERNAL_ROUTES.readUser, UserQuery, async (query) => (await readUser(prisma, query)) ?? notFound()),
  ]
}
