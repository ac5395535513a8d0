import { INTERNAL_ROUTES, UserQuery } from '@nextvisit/contracts'
import { partitionForKey } from '@nextvisit/log'
import type { Barrier } from '@nextvisit/projection'
import { type InternalRoute, internalRoute, notFound } from '@nextvisit/service-kit'
import type { PrismaClient } from '../generated/prisma/client.ts'
import { readForms, readQueue } from './read-forms.ts'

export interface RoutesOptions {
  readonly prisma: PrismaClient
  /** Resolves once everything that was in these partitions of `user-events` when it was called is evaluated. */
  readonly barrier: Barrier
  /** How many partitions `user-events` has. */
  readonly countPartitions: () => Promise<number>
}

/** What other services, and `nextvisit why`, may ask of this one. */
export function createRoutes({ prisma, barrier, countPartitions }: RoutesOptions): readonly InternalRoute[] {
  return [
    internalRoute(INTERNAL_ROUTES.readQueue, UserQuery, (query) => readQueue(prisma, query)),
    internalRoute(INTERNAL_ROUTES.readForms, UserQuery, async (query, { signal }) => {
      // Without the barrier the answer might not be the last decision.
      await barrier([partitionForKey(query.userId, await countPartitions())], signal)
      return (await readForms(prisma, query)) ?? notFound()
    }),
  ]
}
