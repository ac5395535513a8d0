import {
  FormsReadModel,
  MAX_QUEUED_FORMS,
  type QueueAnswer,
  queuedFormOf,
  type TriggerCountsAnswer,
  type TriggerCountsQuery,
  type UserRef,
  waitingFormOf,
} from '@nextvisit/contracts'
import { compileTrigger } from '@nextvisit/domain'
import type { z } from 'zod'
import type { Decision, PrismaClient, QueueRow } from '../generated/prisma/client.ts'
import { toHistory } from './load-draft.ts'
import { toQueueRow } from './queue-rows.ts'
import { eventOccurrences, queues } from './tables.ts'

/** Reads the waiting forms of a user, in the order in which visits take them. An offered form does not wait. */
export async function readQueue(prisma: PrismaClient, user: UserRef): Promise<z.infer<typeof QueueAnswer>> {
  const waiting = await readOpen(prisma, user, ['waiting'])
  return { waiting: waiting.map((row) => waitingFormOf(toQueueRow(queues.parse(row)))) }
}

/** Reads the decisions on a user's forms, and the user's queue; undefined if no identify was folded. */
export async function readForms(prisma: PrismaClient, query: UserRef): Promise<FormsReadModel | undefined> {
  const { organization, project, userId } = query
  const where = { organization, project, userId }
  const [user, decisions, rows] = await Promise.all([
    prisma.user.findUnique({ where: { organization_project_userId: where }, select: { firstSeenAt: true } }),
    prisma.decision.findMany({ where, orderBy: { formId: 'asc' } }),
    readLatest(prisma, where),
  ])
  // A user without an identify, whose events were admitted unchecked, has no first seen.
  if (!user?.firstSeenAt) return undefined
  return FormsReadModel.parse({
    forms: decisions.map(toDecision),
    queue: rows.map((row) => queuedFormOf(toQueueRow(queues.parse(row)))),
  })
}

function readOpen(prisma: PrismaClient, user: UserRef, states: readonly string[]): Promise<QueueRow[]> {
  const { organization, project, userId } = user
  return prisma.queueRow.findMany({
    where: { organization, project, userId, state: { in: [...states] } },
    orderBy: [{ priority: 'desc' }, { queuedAt: 'asc' }, { formId: 'asc' }],
  })
}

/** Reads open rows in the order in which visits take them, then closed rows, the latest first. */
async function readLatest(prisma: PrismaClient, { organization, project, userId }: UserRef): Promise<QueueRow[]> {
  const open = await readOpen(prisma, { organization, project, userId }, ['waiting', 'offered'])
  const over = await prisma.queueRow.findMany({
    where: { organization, project, userId, state: { notIn: ['waiting', 'offered'] } },
    orderBy: [{ queuedAt: 'desc' }, { formId: 'asc' }],
    take: Math.max(0, MAX_QUEUED_FORMS - open.length),
  })
  return [...open, ...over]
}

function toDecision({ formId, outcome, recordId, decidedAt, catalogRevision, trigger, gates }: Decision): object {
  const isQueued = outcome === 'queued'
  return {
    formId,
    decision: isQueued ? 'queued' : 'not-queued',
    ...(isQueued ? {} : { reason: outcome }),
    at: decidedAt.toISOString(),
    requestId: recordId,
    ...(trigger === null ? {} : { trigger }),
    catalogRevision,
    gates,
  }
}

/** Counts a user's progress with each of these triggers at `nowMs`, by the rules of an evaluation. */
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
