// Made from prisma/schema.prisma by `pnpm generate`.
import type { ColumnsOf } from '@nextvisit/database'
import type * as prisma from './prisma/client.ts'

/** The table `counters`: its name, its columns and its key. */
export const Counter = [
  'counters',
  {
    organization: 'text',
    project: 'text',
    kind: 'text',
    month: 'text',
    partition: 'int',
    count: 'bigint',
    fulfilled: 'bigint',
  } satisfies ColumnsOf<prisma.Counter>,
  ['organization', 'project', 'kind', 'month', 'partition'],
] as const

/** The table `reserved_room`: its name, its columns and its key. */
export const ReservedRoom = [
  'reserved_room',
  {
    organization: 'text',
    project: 'text',
    kind: 'text',
    month: 'text',
    units: 'bigint',
  } satisfies ColumnsOf<prisma.ReservedRoom>,
  ['organization', 'project', 'kind', 'month'],
] as const

/** The table `reservations`: its name, its columns and its key. */
export const Reservation = [
  'reservations',
  {
    organization: 'text',
    project: 'text',
    kind: 'text',
    month: 'text',
    unit: 'uuid',
    units: 'bigint',
    returned: 'bigint',
    holders: 'uuid[]',
    partition: 'int',
    reservedAt: 'timestamptz',
    mayHaveLanded: 'boolean',
  } satisfies ColumnsOf<prisma.Reservation>,
  ['organization', 'project', 'kind', 'month', 'unit'],
] as const

/** The table `mau_members`: its name, its columns and its key. */
export const MauMember = [
  'mau_members',
  {
    organization: 'text',
    project: 'text',
    month: 'text',
    userId: 'uuid',
  } satisfies ColumnsOf<prisma.MauMember>,
  ['organization', 'project', 'month', 'userId'],
] as const

/** The table `usage`: its name, its columns and its key. */
export const Usage = [
  'usage',
  {
    organization: 'text',
    project: 'text',
    month: 'text',
    environment: 'text',
    partition: 'int',
    events: 'bigint',
    identifies: 'bigint',
    visits: 'bigint',
  } satisfies ColumnsOf<prisma.Usage>,
  ['organization', 'project', 'month', 'environment', 'partition'],
] as const

/** The table `unique_names`: its name, its columns and its key. */
export const UniqueName = [
  'unique_names',
  {
    organization: 'text',
    project: 'text',
    kind: 'text',
    slug: 'text',
    firstMonth: 'text',
  } satisfies ColumnsOf<prisma.UniqueName>,
  ['organization', 'project', 'kind', 'slug'],
] as const
