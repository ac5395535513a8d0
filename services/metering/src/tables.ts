import { type ColumnsOf, defineTable } from '@nextvisit/database'
import type { Counter, MauMember, Reservation, UniqueName, Usage } from '../generated/prisma/client.ts'

// Only a partition's owner writes the rows of `counters`, `usage` and `mau_members`: users belong to one partition. Everything
// adds, and nothing is read first.

const PROJECT = { organization: 'text', project: 'text' } as const
const COUNTER = { ...PROJECT, kind: 'text', month: 'text' } as const

export const counters = defineTable(
  'counters',
  { ...COUNTER, partition: 'int', count: 'bigint' } satisfies ColumnsOf<Omit<Counter, 'fulfilled'>>,
  ['organization', 'project', 'kind', 'month', 'partition'],
  { count: 'add' },
)

/** Only what folds read: the SQL functions `reserve_room` and `lease_room` write the rows. */
export const reservations = defineTable(
  'reservations',
  { ...COUNTER, unit: 'uuid', partition: 'int', units: 'bigint' } satisfies ColumnsOf<
    Omit<Reservation, 'returned' | 'holders' | 'reservedAt' | 'mayHaveLanded'>
  >,
  ['organization', 'project', 'kind', 'month', 'unit'],
)

export const mauMembers = defineTable(
  'mau_members',
  { ...PROJECT, month: 'text', userId: 'uuid' } satisfies ColumnsOf<MauMember>,
  ['organization', 'project', 'month', 'userId'],
)

export const usage = defineTable(
  'usage',
  {
    ...PROJECT,
    month: 'text',
    environment: 'text',
    partition: 'int',
    events: 'bigint',
    identifies: 'bigint',
    visits: 'bigint',
  } satisfies ColumnsOf<Usage>,
  ['organization', 'project', 'month', 'environment', 'partition'],
  { events: 'add', identifies: 'add', visits: 'add' },
)

export const uniqueNames = defineTable(
  'unique_names',
  { ...PROJECT, kind: 'text', slug: 'text', firstMonth: 'text' } satisfies ColumnsOf<UniqueName>,
  ['organization', 'project', 'kind', 'slug'],
  { firstMonth: 'least' },
)
