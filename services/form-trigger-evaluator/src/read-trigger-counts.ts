import type { TriggerCountsAnswer, TriggerCountsQuery } from '@nextvisit/contracts'
import { compileTrigger } from '@nextvisit/domain'
import type { PrismaClient } from '../generated/prisma/client.ts'
import { toHistory } from './load-draft.ts'
import { eventOccurrences } from './tables.ts'

/** How far a user is with each of these triggers at `nowMs`, counted as an evaluation counts. */
export async function readTriggerCounts(
  prisma: PrismaClient,
  { organization, project, userId, triggers }: TriggerCountsQuery,
  nowMs: number,
): Promise<TriggerCountsAnswer> {
  const where = { organization, project, userId }
  const compiled = triggers.map(compileTrigger)
  const keys = [...new Set(compiled.flatMap(({ countKey }) => countKey ?? []))]
  const [user, rows] = await Promise.all([
    prisma.user.findUnique({ where: { organization_project_userId: where }, select: { sessionStartedAt: true } }),
    eventOccurrences.selectByKeys(
      prisma,
      keys.map((slug) => ({ ...where, slug })),
    ),
  ])
  const activity = {
    sessionStartedAt: user?.sessionStartedAt?.getTime(),
    events: new Map(rows.map((row) => [row.slug, toHistory(row)])),
  }
  return { counts: compiled.map(({ countSoFar }) => countSoFar?.(activity, nowMs) ?? null) }
}
