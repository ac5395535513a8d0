import { type ColumnsOf, defineTable } from '@nextvisit/database'
import type {
  Decision,
  EventOccurrences,
  IdempotentOutcome,
  QueueRow,
  ShownForm,
  User,
} from '../generated/prisma/client.ts'

// Only the owner of a user's partition writes their rows, so whole rows replace each other.

const USER = { organization: 'text', project: 'text', userId: 'uuid' } as const

export const users = defineTable(
  'users',
  {
    ...USER,
    traits: 'json',
    traitBytes: 'int',
    device: 'jsonb',
    firstSeenAt: 'timestamptz?',
    sessionStartedAt: 'timestamptz?',
    lastSdkContactAt: 'timestamptz?',
  } satisfies ColumnsOf<User>,
  ['organization', 'project', 'userId'],
)

export const eventOccurrences = defineTable(
  'event_occurrences',
  {
    ...USER,
    slug: 'text',
    total: 'bigint',
    latestMs: 'bigint[]',
    sessionStartedAt: 'timestamptz?',
    sessionCount: 'int',
  } satisfies ColumnsOf<EventOccurrences>,
  ['organization', 'project', 'userId', 'slug'],
)

export const queues = defineTable(
  'queue',
  {
    ...USER,
    id: 'uuid',
    formId: 'text',
    state: 'text',
    priority: 'bigint',
    queuedAt: 'timestamptz',
    showFrom: 'timestamptz',
    expiresAt: 'timestamptz?',
    offeredAt: 'timestamptz?',
    shownAt: 'timestamptz?',
    visitId: 'uuid?',
    causeId: 'uuid',
    catalogRevision: 'int',
    partition: 'int',
  } satisfies ColumnsOf<QueueRow>,
  ['organization', 'project', 'userId', 'id'],
)

/** Adds: a row is written when a form was shown, not when its count is known. */
export const shownForms = defineTable(
  'shown_forms',
  { ...USER, formId: 'text', times: 'bigint', lastAt: 'timestamptz' } satisfies ColumnsOf<ShownForm>,
  ['organization', 'project', 'userId', 'formId'],
  { times: 'add', lastAt: 'greatest' },
)

export const decisions = defineTable(
  'decisions',
  {
    ...USER,
    formId: 'text',
    outcome: 'text',
    recordId: 'uuid',
    decidedAt: 'timestamptz',
    catalogRevision: 'int',
    trigger: 'jsonb?',
    gates: 'jsonb',
  } satisfies ColumnsOf<Decision>,
  ['organization', 'project', 'userId', 'formId'],
)

export const idempotentOutcomes = defineTable(
  'idempotent_outcomes',
  {
    recordId: 'uuid',
    partition: 'int',
    received: 'timestamptz',
    reply: 'jsonb',
  } satisfies ColumnsOf<IdempotentOutcome>,
  ['recordId'],
)
