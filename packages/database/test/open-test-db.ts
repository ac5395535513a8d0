import { PrismaClient } from '../generated/prisma/client.ts'
import { createAdapter } from '../src/create-adapter.ts'
import type { Db } from '../src/sql.ts'

/** A real client without models, for specs of packages that have no Prisma schema of their own. */
export function openTestDb(url: string, schema: string): Db {
  return openTestClient(createAdapter({ url, schema, applicationName: 'spec' }))
}

/** The same over an adapter of the caller's. */
export function openTestClient(adapter: ReturnType<typeof createAdapter>): Db {
  return new PrismaClient({ adapter })
}
