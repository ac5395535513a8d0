import {
  INTERNAL_ROUTES,
  LookUpUsersRequest,
  SegmentMembersQuery,
  SegmentsQuery,
  UserQuery,
} from '@nextvisit/contracts'
import { partitionForKey } from '@nextvisit/log'
import type { Barrier } from '@nextvisit/projection'
import { type InternalRoute, internalRoute, notFound } from '@nextvisit/service-kit'
import type { PrismaClient } from '../generated/prisma/client.ts'
import { readExistence, readUser } from './queries.ts'
import { readSegmentMembers, readSegments } from './queries.ts'

export interface RoutesOptions {
  readonly prisma: PrismaClient
  /** Resolves once everything that was in these partitions of `user-events` when it was called is folded. */
  readonly barrier: Barrier
  /** How many partitions `user-events` has. */
  readonly countPartitions: () => Promise<number>
}

/** Enough for whatever is on its way; what is left of the caller's 2 s is for the answer. */
const READ_BARRIER_WITHIN_MS = 1_000

/** What other services may ask of this one. */
export function createRoutes({ prisma, barrier, countPartitions }: RoutesOptions): InternalRoute[] {
  /** What was answered before is folded, if that is to be had in time: what is there is better than nothing. */
  const catchUp = async (partitionsOf: (count: number) => readonly number[], signal: AbortSignal): Promise<void> => {
    const within = AbortSignal.any([signal, AbortSignal.timeout(READ_BARRIER_WITHIN_MS)])
    try {
      await barrier(partitionsOf(await countPartitions()), within)
    } catch (error) {
      if (signal.aborted) throw error
    }
  }

  return [
    internalRoute(INTERNAL_ROUTES.lookUpUsers, LookUpUsersRequest, async ({ users }, { signal }) => {
      const exists = await readExistence(prisma, users)
      // Users never vanish, so only for the others does it matter what is not folded yet.
      const unknown = users.filter((_user, index) => !exists[index])
      if (unknown.length === 0) return { exists }
      await barrier([...new Set(unknown.map((user) => user.partition))], signal)
      return { exists: await readExistence(prisma, users) }
    }),
    internalRoute(INTERNAL_ROUTES.readUser, UserQuery, async (query, { signal }) => {
      await catchUp((count) => [partitionForKey(query.userId, count)], signal)
      return (await readUser(prisma, query)) ?? notFound()
    }),
    internalRoute(INTERNAL_ROUTES.readSegments, SegmentsQuery, async (query, { signal }) => {
      await catchUp(everyPartition, signal)
      return readSegments(prisma, query)
    }),
    internalRoute(INTERNAL_ROUTES.readSegmentMembers, SegmentMembersQuery, async (query, { signal }) => {
      await catchUp(everyPartition, signal)
      return readSegmentMembers(prisma, query)
    }),
  ]
}

function everyPartition(count: number): readonly number[] {
  return Array.from({ length: count }, (_, partition) => partition)
}
