import { PrismaClient } from '../generated/prisma/client.ts'
import { createAdapter } from '../src/connect/adapter.ts'
import { openCommitDb } from '../src/connect/open-commit-db.ts'
import type { CommitDb, Db } from '../src/sql.ts'

/** Opens a database for specs of packages without a Prisma schema. */
export function openTestDb(url: string, schema: string): CommitDb {
  return openCommitDb({ url, schema, applicationName: 'spec' })
}

/** Creates a real client without models on the caller's adapter. */
export function openTestClient(adapter: ReturnType<typeof createAdapter>): Db {
  return new PrismaClient({ adapter })
}
