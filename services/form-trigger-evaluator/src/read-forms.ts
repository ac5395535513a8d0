import {
  FormsReadModel,
  MAX_QUEUED_FORMS,
  type QueueAnswer,
  queuedFormOf,
  type UserRef,
  waitingFormOf,
} from '@nextvisit/contracts'
import type { z } from 'zod'
import type { Decision, PrismaClient, QueueRow } from '../generated/prisma/client.ts'
import { toQueueRow } from './queue-rows.ts'
import { queues } from './tables.ts'

/** What waits for one user, in the order in which visits take it. An offered form is on its way, and waits no more. */
export async function readQueue(prisma: PrismaClient, user: UserRef): Promise<z.infer<typeof QueueAnswer>> {
  const waiting = await readOpen(prisma, user, ['waiting'])
  return { waiting: waiting.map((row) => waitingFormOf(toQueueRow(queues.parse(row)))) }
}

/** Why forms did, or did not, reach a user, and their queue; undefined where nobody has identified them. */
export async function readForms(prisma: PrismaClient, query: UserRef): Promise<FormsReadModel | undefined> {
  const { organization, project, userId } = query
  const where = { organization, project, userId }
  const [user, decisions, rows] = await Promise.all([
    prisma.user.findUnique({ where: { organization_project_userId: where }, select: { firstSeenAt: true } }),
    prisma.decision.findMany({ where, orderBy: { formId: 'asc' } }),
    readLatest(prisma, where),
  ])
  // A user whose events were admitted unchecked, and who was never identified, has no first seen.
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

/** What is open, in the order in which visits take it, then what is over, the latest first. */
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
