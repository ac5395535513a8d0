// Made from prisma/schema.prisma by `pnpm generate`.
import type { ColumnsOf } from '@nextvisit/database'
import type * as prisma from './prisma/client.ts'

/** The table `things`: its name, its columns and its key. */
export const Thing = [
  'things',
  {
    organization: 'text',
    id: 'bigint',
    seenAt: 'timestamptz',
  } satisfies ColumnsOf<prisma.Thing>,
  ['organization', 'id'],
] as const

/** The table `samples`: its name, its columns and its key. */
export const Sample = [
  'samples',
  {
    organization: 'text',
    userId: 'uuid',
    traits: 'jsonb',
    note: 'text?',
    total: 'bigint',
    revision: 'int',
    isKnown: 'boolean',
    firstAt: 'timestamptz',
    lastAt: 'timestamptz?',
    latestMs: 'bigint[]',
    labels: 'text[]',
  } satisfies ColumnsOf<prisma.Sample>,
  ['organization', 'userId'],
] as const
