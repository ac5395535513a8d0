// Made from prisma/schema.prisma by `pnpm generate`.
import type { ColumnsOf } from '@nextvisit/database'
import type * as prisma from './prisma/client.ts'

/** The table `erasures`: its name, its columns and its key. */
export const Erasure = [
  'erasures',
  {
    erasureId: 'uuid',
    organization: 'text',
    project: 'text',
    requestedAt: 'timestamptz',
    users: 'int',
    unknown: 'int',
    suppress: 'boolean',
    completedAt: 'timestamptz?',
    receipt: 'text?',
    keysOnly: 'boolean',
  } satisfies ColumnsOf<prisma.Erasure>,
  ['erasureId'],
] as const

/** The table `erasure_users`: its name, its columns and its key. */
export const ErasureUser = [
  'erasure_users',
  {
    organization: 'text',
    project: 'text',
    userId: 'uuid',
    erasureId: 'uuid',
    keysUntil: 'timestamptz',
  } satisfies ColumnsOf<prisma.ErasureUser>,
  ['erasureId', 'userId'],
] as const

/** The table `erasure_facts`: its name, its columns and its key. */
export const ErasureFact = [
  'erasure_facts',
  {
    erasureId: 'uuid',
    userId: 'uuid',
    partition: 'int',
    offset: 'bigint',
  } satisfies ColumnsOf<prisma.ErasureFact>,
  ['erasureId', 'userId'],
] as const

/** The table `erasure_stores`: its name, its columns and its key. */
export const ErasureStore = [
  'erasure_stores',
  {
    erasureId: 'uuid',
    store: 'text',
    rows: 'bigint',
    finishedAt: 'timestamptz?',
    dueAt: 'timestamptz?',
    because: 'text?',
  } satisfies ColumnsOf<prisma.ErasureStore>,
  ['erasureId', 'store'],
] as const

/** The table `erased_keys`: its name, its columns and its key. */
export const ErasedKey = [
  'erased_keys',
  {
    userId: 'uuid',
    keyId: 'uuid',
    partition: 'int',
    fingerprint: 'text',
    goneAt: 'timestamptz?',
  } satisfies ColumnsOf<prisma.ErasedKey>,
  ['userId', 'keyId'],
] as const

/** The table `key_cursors`: its name, its columns and its key. */
export const KeyCursor = [
  'key_cursors',
  {
    partition: 'int',
    nextOffset: 'bigint',
  } satisfies ColumnsOf<prisma.KeyCursor>,
  ['partition'],
] as const

/** The table `installation_keys`: its name, its columns and its key. */
export const InstallationKeys = [
  'installation_keys',
  {
    id: 'int',
    receiptKey: 'text',
    receiptSecret: 'text',
    suppressionKey: 'text',
  } satisfies ColumnsOf<prisma.InstallationKeys>,
  ['id'],
] as const
