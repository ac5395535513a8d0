// Made from prisma/schema.prisma by `pnpm generate`.
import type { ColumnsOf } from '@nextvisit/database'
import type * as prisma from './prisma/client.ts'

/** The table `users`: its name, its columns and its key. */
export const User = [
  'users',
  {
    organization: 'text',
    project: 'text',
    userId: 'uuid',
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
  } satisfies ColumnsOf<prisma.User>,
  ['organization', 'project', 'userId'],
] as const

/** The table `user_events`: its name, its columns and its key. */
export const UserEvent = [
  'user_events',
  {
    organization: 'text',
    project: 'text',
    userId: 'uuid',
    slug: 'text',
    count: 'bigint',
    firstAt: 'timestamptz',
    lastAt: 'timestamptz',
    latestMs: 'bigint[]',
  } satisfies ColumnsOf<prisma.UserEvent>,
  ['organization', 'project', 'userId', 'slug'],
] as const

/** The table `form_answers`: its name, its columns and its key. */
export const FormAnswers = [
  'form_answers',
  {
    organization: 'text',
    project: 'text',
    userId: 'uuid',
    formId: 'text',
    offerId: 'uuid',
    status: 'text',
    keptSince: 'timestamptz',
    endedAt: 'timestamptz?',
    answers: 'json',
    otherOffers: 'json',
  } satisfies ColumnsOf<prisma.FormAnswers>,
  ['organization', 'project', 'userId', 'formId'],
] as const

/** The table `segment_members`: its name, its columns and its key. */
export const SegmentMember = [
  'segment_members',
  {
    organization: 'text',
    project: 'text',
    segmentId: 'text',
    userId: 'uuid',
    since: 'timestamptz',
  } satisfies ColumnsOf<prisma.SegmentMember>,
  ['organization', 'project', 'segmentId', 'userId'],
] as const

/** The table `segment_counts`: its name, its columns and its key. */
export const SegmentCount = [
  'segment_counts',
  {
    organization: 'text',
    project: 'text',
    segmentId: 'text',
    partition: 'int',
    members: 'bigint',
  } satisfies ColumnsOf<prisma.SegmentCount>,
  ['organization', 'project', 'segmentId', 'partition'],
] as const

/** The table `segment_progress`: its name, its columns and its key. */
export const SegmentProgress = [
  'segment_progress',
  {
    organization: 'text',
    project: 'text',
    definitions: 'text',
    partition: 'int',
    segments: 'text[]',
    revision: 'int',
    users: 'bigint',
  } satisfies ColumnsOf<prisma.SegmentProgress>,
  ['organization', 'project', 'definitions', 'partition'],
] as const
