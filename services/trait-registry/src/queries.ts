import type { DefinitionsAnswer, DefinitionsQuery } from '@nextvisit/contracts'
import type { z } from 'zod'
import type { PrismaClient } from '../generated/prisma/client.ts'

/** A page of definitions by slug, in the order of its bytes. Ask for `after: next` to get the page after it. */
export async function readDefinitions(
  prisma: PrismaClient,
  { kind, organization, project, limit, after }: DefinitionsQuery,
): Promise<z.infer<typeof DefinitionsAnswer>> {
  const rows = await prisma.definition.findMany({
    where: { organization, project, kind, ...(after === undefined ? {} : { slug: { gt: after } }) },
    orderBy: { slug: 'asc' },
    take: limit + 1,
  })
  const page = rows.slice(0, limit)
  return {
    definitions: page.map(({ slug, name, firstSeenAt, lastSeenAt, count }) => ({
      slug,
      name,
      firstSeenAt: firstSeenAt.toISOString(),
      lastSeenAt: lastSeenAt.toISOString(),
      count: Number(count),
    })),
    next: rows.length > limit ? (page.at(-1)?.slug ?? null) : null,
  }
}
