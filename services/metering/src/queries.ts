import type { UsageAnswer, UsageQuery } from '@nextvisit/contracts'
import type { PrismaClient } from '../generated/prisma/client.ts'
import { counterOf } from './ledger.ts'

/**
 * Reads a month's counters in the terms of the plan's limits: events of the organization, and the project's other counters.
 * Unique names are those in use up to that month. `disabledTraits` take no room under the cap, and are not counted.
 */
export async function readUsage(
  prisma: PrismaClient,
  { organization, project, month }: UsageQuery,
  disabledTraits: ReadonlySet<string>,
): Promise<UsageAnswer> {
  const countOf = async (kind: 'event' | 'mau') => {
    const where = counterOf(kind, { organization, project }, month)
    const { _sum } = await prisma.counter.aggregate({ _sum: { count: true }, where })
    return Number(_sum.count ?? 0)
  }
  const inUse = { organization, project, firstMonth: { lte: month } }
  const [events, monthlyActiveUsers, uniqueEvents, uniqueTraits] = await Promise.all([
    countOf('event'),
    countOf('mau'),
    prisma.uniqueName.count({ where: { ...inUse, kind: 'event' } }),
    prisma.uniqueName.count({ where: { ...inUse, kind: 'trait', slug: { notIn: [...disabledTraits] } } }),
  ])
  return { month, events, monthlyActiveUsers, uniqueEvents, uniqueTraits }
}
