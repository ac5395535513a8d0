import { FormsReadModel, type QueuedForm, type UserQuery } from '@nextvisit/contracts'
import type { Decision, PrismaClient, QueueRow } from '../generated/prisma/client.ts'

const MAX_QUEUED = 100

/** Why forms did, or did not, reach a user, and their queue; none where nobody has identified them. */
export async function readForms(prisma: PrismaClient, query: UserQuery): Promise<FormsReadModel | undefined> {
  const { organization, project, userId } = query
  const where = { organization, project, userId }
  const [user, decisions, queue] = await Promise.all([
    prisma.user.findUnique({ where: { organization_project_userId: where }, select: { firstSeenAt: true } }),
    prisma.decision.findMany({ where, orderBy: { formId: 'asc' } }),
    readLatest(prisma, query),
  ])
  // Activity of somebody who was let through unchecked has no first seen.
  if (!user?.firstSeenAt) return undefined
  return FormsReadModel.parse({ forms: decisions.map(toDecision), queue: queue.map(toQueued) })
}

/** What is open, in the order in which visits take it, then what is over, the latest first. */
async function readLatest(prisma: PrismaClient, { organization, project, userId }: UserQuery): Promise<QueueRow[]> {
  const ofUser = { organization, project, userId }
  const open = await prisma.queueRow.findMany({
    where: { ...ofUser, state: { in: ['waiting', 'offered'] } },
    orderBy: [{ priority: 'desc' }, { queuedAt: 'asc' }, { formId: 'asc' }],
  })
  const over = await prisma.queueRow.findMany({
    where: { ...ofUser, state: { notIn: ['waiting', 'offered'] } },
    orderBy: [{ queuedAt: 'desc' }, { formId: 'asc' }],
    take: Math.max(0, MAX_QUEUED - open.length),
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

function toQueued(row: QueueRow): Record<keyof QueuedForm, unknown> {
  return {
    queuedId: row.id,
    formId: row.formId,
    state: row.state,
    queuedAt: row.queuedAt.toISOString(),
    showFrom: row.showFrom.toISOString(),
    expiresAt: row.expiresAt?.toISOString() ?? null,
    offeredAt: row.offeredAt?.toISOString() ?? null,
    deliveredAt: row.shownAt?.toISOString() ?? null,
    requestId: row.causeId,
  }
}
