// Made from prisma/schema.prisma by `pnpm generate`.
import type { ColumnsOf } from '@nextvisit/database'
import type * as prisma from './prisma/client.ts'

/** The table `endpoints`: its name, its columns and its key. */
export const Endpoint = [
  'endpoints',
  {
    organization: 'text',
    project: 'text',
    endpointId: 'text',
    addedAt: 'timestamptz',
    disabledAt: 'timestamptz?',
    because: 'text?',
    failingSince: 'timestamptz?',
    failedAt: 'timestamptz?',
    deliveredAt: 'timestamptz?',
  } satisfies ColumnsOf<prisma.Endpoint>,
  ['organization', 'project', 'endpointId'],
] as const

/** The table `positions`: its name, its columns and its key. */
export const Position = [
  'positions',
  {
    organization: 'text',
    project: 'text',
    endpointId: 'text',
    replayId: 'uuid',
    partition: 'int',
    addedAt: 'timestamptz',
    nextOffset: 'bigint',
    beginOffset: 'bigint?',
    endOffset: 'bigint?',
    isLive: 'boolean',
  } satisfies ColumnsOf<prisma.Position>,
  ['organization', 'project', 'endpointId', 'replayId', 'partition'],
] as const

/** The table `replays`: its name, its columns and its key. */
export const Replay = [
  'replays',
  {
    replayId: 'uuid',
    organization: 'text',
    project: 'text',
    endpointId: 'text',
    number: 'int',
    fromAt: 'timestamptz',
    toAt: 'timestamptz',
    events: 'jsonb?',
    requestedAt: 'timestamptz',
    unplaced: 'bigint[]',
  } satisfies ColumnsOf<prisma.Replay>,
  ['replayId'],
] as const

/** The table `deliveries`: its name, its columns and its key. */
export const Delivery = [
  'deliveries',
  {
    deliveryId: 'uuid',
    organization: 'text',
    project: 'text',
    endpointId: 'text',
    replayId: 'uuid',
    partition: 'int',
    sourceOffset: 'bigint',
    causeOffset: 'bigint?',
    userId: 'uuid',
    webhookId: 'uuid',
    type: 'text',
    at: 'timestamptz',
    body: 'text',
    capture: 'text[]',
    traceparent: 'text?',
    status: 'text',
    attempts: 'int',
    round: 'int',
    createdAt: 'timestamptz',
    pendingSince: 'timestamptz',
    endedAt: 'timestamptz?',
  } satisfies ColumnsOf<prisma.Delivery>,
  ['deliveryId'],
] as const

/** The table `turns`: its name, its columns and its key. */
export const Turn = [
  'turns',
  {
    organization: 'text',
    project: 'text',
    endpointId: 'text',
    replayId: 'uuid',
    userId: 'uuid',
    partition: 'int',
    nextAt: 'timestamptz',
  } satisfies ColumnsOf<prisma.Turn>,
  ['organization', 'project', 'userId', 'endpointId', 'replayId'],
] as const

/** The table `attempts`: its name, its columns and its key. */
export const Attempt = [
  'attempts',
  {
    deliveryId: 'uuid',
    number: 'int',
    at: 'timestamptz',
    durationMs: 'int',
    outcome: 'text',
    httpStatus: 'int?',
    error: 'text?',
    response: 'text?',
  } satisfies ColumnsOf<prisma.Attempt>,
  ['deliveryId', 'number'],
] as const
