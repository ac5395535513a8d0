import { type ColumnsOf, defineTable } from '@nextvisit/database'
import type { Claim, Definition, DefinitionCount, TickMark } from '../generated/prisma/client.ts'

const NAME = { organization: 'text', project: 'text', kind: 'text', slug: 'text' } as const

/** The earliest record by (received, id) names a definition. */
const OF_EARLIEST = { leastBy: ['firstSeenAt', 'firstRecordId'] } as const

/** Shared by all partitions: an upsert adds, and nothing is read first. */
export const definitions = defineTable(
  'definitions',
  {
    ...NAME,
    name: 'text',
    firstSeenAt: 'timestamptz',
    firstRecordId: 'uuid',
    registeredBy: 'uuid?',
  } satisfies ColumnsOf<Definition>,
  ['organization', 'project', 'kind', 'slug'],
  {
    name: OF_EARLIEST,
    firstSeenAt: OF_EARLIEST,
    firstRecordId: OF_EARLIEST,
    // There are several where a publish succeeded but was not acknowledged. Any of them will do.
    registeredBy: 'least',
  },
)

/** Each row is of one partition. */
export const definitionCounts = defineTable(
  'definition_counts',
  { ...NAME, partition: 'int', count: 'bigint', lastSeenAt: 'timestamptz' } satisfies ColumnsOf<DefinitionCount>,
  ['organization', 'project', 'kind', 'slug', 'partition'],
  { count: 'add', lastSeenAt: 'greatest' },
)

/** By key only: the SQL function `claim_names` writes the rest. */
export const claims = defineTable(
  'claims',
  { ...NAME, partition: 'int', askedAt: 'timestamptz' } satisfies ColumnsOf<
    Pick<Claim, keyof typeof NAME | 'partition' | 'askedAt'>
  >,
  ['organization', 'project', 'kind', 'slug'],
)

export const tickMarks = defineTable(
  'tick_marks',
  { partition: 'int', instant: 'timestamptz' } satisfies ColumnsOf<TickMark>,
  ['partition'],
  { instant: 'greatest' },
)
