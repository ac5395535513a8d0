import { QueueAnswer, type UserQuery } from '@nextvisit/contracts'
import type { PrismaClient } from '../generated/prisma/client.ts'
import type { z } from 'zod'

/** What waits for one user, in the order in which visits take it. What is offered is on its way, and waits no more. */
export async function readQueue(prisma: PrismaClient, query: UserQuery): Promise<z.infer<typeof QueueAnswer>> {
  const { organization, project, userId } = query
  const rows = await prisma.queueRow.findMany({
    where: { organization, project, userId, state: 'waiting' },
    orderBy: [{ priority: 'desc' }, { queuedAt: 'asc' }, { formId: 'asc' }],
  })
  return QueueAnswer.parse({
    waiting: rows.map(({ id, formId, state, priority, queuedAt, showFrom, expiresAt }) => ({
      queuedId: id,
      formId,
      state,
      queuedAt: queuedAt.toISOString(),
      showFrom: showFrom.toISOString(),
      expiresAt: expiresAt?.toISOString() ?? null,
      priority: Number(priority),
    })),
  })
}
