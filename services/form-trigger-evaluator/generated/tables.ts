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
    traits: 'json',
    traitBytes: 'int',
    device: 'jsonb',
    firstSeenAt: 'timestamptz?',
    sessionStartedAt: 'timestamptz?',
    lastSdkContactAt: 'timestamptz?',
  } satisfies ColumnsOf<prisma.User>,
  ['organization', 'project', 'userId'],
] as const

/** The table `event_occurrences`: its name, its columns and its key. */
export const EventOccurrences = [
  'event_occurrences',
  {
    organization: 'text',
    project: 'text',
    userId: 'uuid',
    slug: 'text',
    total: 'bigint',
    latestMs: 'bigint[]',
    sessionStartedAt: 'timestamptz?',
    sessionCount: 'int',
    missedAt: 'timestamptz?',
    missedReceivedAt: 'timestamptz?',
  } satisfies ColumnsOf<prisma.EventOccurrences>,
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

/** The table `queue`: its name, its columns and its key. */
export const QueueRow = [
  'queue',
  {
    organization: 'text',
    project: 'text',
    userId: 'uuid',
    id: 'uuid',
    formId: 'text',
    environment: 'text',
    state: 'text',
    priority: 'bigint',
    queuedAt: 'timestamptz',
    showFrom: 'timestamptz',
    expiresAt: 'timestamptz?',
    offeredAt: 'timestamptz?',
    shownAt: 'timestamptz?',
    visitId: 'uuid?',
    startedAt: 'timestamptz?',
    endedAt: 'timestamptz?',
    answerStatus: 'text?',
    causeId: 'uuid',
    causeOffset: 'bigint?',
    catalogRevision: 'int',
    partition: 'int',
  } satisfies ColumnsOf<prisma.QueueRow>,
  ['organization', 'project', 'userId', 'id'],
] as const

/** The table `shown_forms`: its name, its columns and its key. */
export const ShownForm = [
  'shown_forms',
  {
    organization: 'text',
    project: 'text',
    userId: 'uuid',
    formId: 'text',
    times: 'bigint',
    lastAt: 'timestamptz',
  } satisfies ColumnsOf<prisma.ShownForm>,
  ['organization', 'project', 'userId', 'formId'],
] as const

/** The table `decisions`: its name, its columns and its key. */
export const Decision = [
  'decisions',
  {
    organization: 'text',
    project: 'text',
    userId: 'uuid',
    formId: 'text',
    outcome: 'text',
    recordId: 'uuid',
    decidedAt: 'timestamptz',
    catalogRevision: 'int',
    trigger: 'jsonb?',
    gates: 'jsonb',
  } satisfies ColumnsOf<prisma.Decision>,
  ['organization', 'project', 'userId', 'formId'],
] as const

/** The table `idempotent_outcomes`: its name, its columns and its key. */
export const IdempotentOutcome = [
  'idempotent_outcomes',
  {
    recordId: 'uuid',
    userId: 'uuid',
    partition: 'int',
    received: 'timestamptz',
    reply: 'jsonb',
  } satisfies ColumnsOf<prisma.IdempotentOutcome>,
  ['recordId'],
] as const
