// Made from prisma/schema.prisma by `pnpm generate`.
import type { ColumnsOf } from '@nextvisit/database'
import type * as prisma from './prisma/client.ts'

/** The table `projects`: its name, its columns and its key. */
export const ProjectLock = [
  'projects',
  {
    organization: 'text',
    project: 'text',
  } satisfies ColumnsOf<prisma.ProjectLock>,
  ['organization', 'project'],
] as const

/** The table `definitions`: its name, its columns and its key. */
export const Definition = [
  'definitions',
  {
    organization: 'text',
    project: 'text',
    kind: 'text',
    slug: 'text',
    name: 'text',
    firstSeenAt: 'timestamptz',
    firstRecordId: 'uuid',
    registeredBy: 'uuid?',
  } satisfies ColumnsOf<prisma.Definition>,
  ['organization', 'project', 'kind', 'slug'],
] as const

/** The table `definition_counts`: its name, its columns and its key. */
export const DefinitionCount = [
  'definition_counts',
  {
    organization: 'text',
    project: 'text',
    kind: 'text',
    slug: 'text',
    partition: 'int',
    count: 'bigint',
    lastSeenAt: 'timestamptz',
  } satisfies ColumnsOf<prisma.DefinitionCount>,
  ['organization', 'project', 'kind', 'slug', 'partition'],
] as const

/** The table `claims`: its name, its columns and its key. */
export const Claim = [
  'claims',
  {
    organization: 'text',
    project: 'text',
    kind: 'text',
    slug: 'text',
    recordId: 'uuid',
    partition: 'int',
    askedAt: 'timestamptz',
    holders: 'uuid[]',
    mayHaveLanded: 'boolean',
  } satisfies ColumnsOf<prisma.Claim>,
  ['organization', 'project', 'kind', 'slug'],
] as const

/** The table `tick_marks`: its name, its columns and its key. */
export const TickMark = [
  'tick_marks',
  {
    partition: 'int',
    instant: 'timestamptz',
  } satisfies ColumnsOf<prisma.TickMark>,
  ['partition'],
] as const
