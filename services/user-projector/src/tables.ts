import { type ColumnsOf, defineTable } from '@nextvisit/database'
import type { SegmentCount, SegmentMember, SegmentProgress, User, UserEvent } from '../generated/prisma/client.ts'

// Only the owner of a user's partition writes their rows, so whole rows replace each other.

const PROJECT = { organization: 'text', project: 'text' } as const
const USER = { ...PROJECT, userId: 'uuid' } as const

export const users = defineTable(
  'users',
  {
    ...USER,
    userName: 'text',
    traits: 'json',
    traitBytes: 'int',
    droppedTraitOperations: 'bigint',
    country: 'text?',
    device: 'jsonb',
    firstSeenAt: 'timestamptz',
    lastSeenAt: 'timestamptz',
    partition: 'int',
    definitions: 'text',
    asOf: 'timestamptz?',
    changesAt: 'timestamptz?',
  } satisfies ColumnsOf<User>,
  ['organization', 'project', 'userId'],
)

export const userEvents = defineTable(
  'user_events',
  {
    ...USER,
    slug: 'text',
    count: 'bigint',
    latestMs: 'bigint[]',
    firstAt: 'timestamptz',
    lastAt: 'timestamptz',
  } satisfies ColumnsOf<UserEvent>,
  ['organization', 'project', 'userId', 'slug'],
)

export const segmentMembers = defineTable(
  'segment_members',
  { ...USER, segmentId: 'text', since: 'timestamptz' } satisfies ColumnsOf<SegmentMember>,
  ['organization', 'project', 'segmentId', 'userId'],
)

export const segmentCounts = defineTable(
  'segment_counts',
  { ...PROJECT, segmentId: 'text', partition: 'int', members: 'bigint' } satisfies ColumnsOf<SegmentCount>,
  ['organization', 'project', 'segmentId', 'partition'],
  { members: 'add' },
)

export const segmentProgress = defineTable(
  'segment_progress',
  {
    ...PROJECT,
    definitions: 'text',
    partition: 'int',
    segments: 'text[]',
    revision: 'int',
    users: 'bigint',
  } satisfies ColumnsOf<SegmentProgress>,
  ['organization', 'project', 'definitions', 'partition'],
  { segments: 'keep', revision: 'greatest', users: 'add' },
)
