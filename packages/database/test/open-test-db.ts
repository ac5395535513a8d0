import { PrismaClient } from '../generated/prisma/client.ts'
import { createAdapter } from '../src/create-adapter.ts'
import { openCommitDb } from '../src/open-commit-db.ts'
import type { CommitDb, Db } from '../src/sql.ts'

/** For specs of packages that have no Prisma schema of their own. */
export function openTestDb(url: string, schema: string): CommitDb {
  return openCommitDb({ url, schema, applicationName: 'spec' })
}

/** A real client without models, over an adapter of the caller's. */
export function openTestClient(adapter: ReturnType<typeof createAdapter>): Db {
  return new PrismaClient({ adapter })
}
