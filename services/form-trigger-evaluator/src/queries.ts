import { QueueAnswer, type UserQuery } from '@nextvisit/contracts'
import type { PrismaClient } from '../generated/prisma/client.ts'
import type { z } from 'zod'

/** One user's open rows, in the order in which visits take them. */
export async function readQueue(prisma: PrismaClient, query: UserQuery): Promise<z.infer<typeof QueueAnswer>> {
  const { organization, project, userId } = query
  const rows = await prisma.queueRow.findMany({
    where: { organization, project, userId, state: { in: ['waiting', 'offered'] } },
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
