import { PrismaClient } from '../generated/prisma/client.ts'
import { createAdapter } from '../src/create-adapter.ts'
import type { Db } from '../src/sql.ts'

/** A real client without models, for specs of packages that have no Prisma schema of their own. */
export function openTestDb(url: string, schema: string): Db {
  return new PrismaClient({ adapter: createAdapter({ url, schema, applicationName: 'spec' }) })
}
