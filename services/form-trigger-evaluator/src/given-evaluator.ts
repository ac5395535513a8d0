import type { FormFact, UserFact } from '@nextvisit/contracts'
import { applyMigrations, createAdapter, sql, type Statement, transactionOptions } from '@nextvisit/database'
import { coreMigrations, type FoldContext, type Recorded } from '@nextvisit/projection'
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { PrismaClient } from '../generated/prisma/client.ts'
import { at, PARTITION, recorded } from './evaluator-fixtures.ts'
import { createFormTriggerProjection } from './form-trigger-projection.ts'
import type { AddressedReply } from './forms-draft.ts'

/** For specs: the projection on a database of its own, fed batch by batch as the runner does. */
export async function givenEvaluator(databaseUrl: string) {
  const url = new URL(databaseUrl)
  const server = clientOf(url.href, 'public')
  const database = `forms_test_${randomUUID().slice(0, 8)}`
  await server.$executeRawUnsafe(`CREATE DATABASE ${database}`)
  url.pathname = `/${database}`
  const directory = path.join(import.meta.dirname, '../prisma/migrations')
  await applyMigrations({ url: url.href, schema: 'forms', directory: coreMigrations, table: '_core_migrations' })
  await applyMigrations({ url: url.href, schema: 'forms', directory })
  const prisma = clientOf(url.href, 'forms')
  const replies: AddressedReply[] = []
  const projection = createFormTriggerProjection({ publishReplies: async (sent) => void replies.push(...sent) })

  /** What the fence does for the outbox, and nothing else of it. */
  async function commit(statements: readonly Statement[]): Promise<void> {
    const all = [sql`SELECT set_config('nextvisit.partition', ${String(PARTITION)}, true)`, ...statements]
    await prisma.$transaction(all.map((statement) => prisma.$executeRaw(statement)))
  }

  return {
    prisma,
    /** One batch; returns its replies. */
    fold: async (context: FoldContext, ...facts: (UserFact | Recorded<UserFact>)[]) => {
      const batch = facts.map((fact) => ('fact' in fact ? fact : recorded(fact)))
      const loaded = (await projection.load?.(prisma, batch)) ?? projection.empty()
      const draft = batch.reduce((before, record) => projection.evolve(before, record, context), loaded)
      await commit(projection.save(draft))
      replies.length = 0
      await projection.after?.(draft)
      return replies.map(({ reply }) => reply)
    },
    /** A tick as of `ms` after the start of the story. */
    tick: async (context: FoldContext, ms: number) => {
      await commit((await projection.tick?.(prisma, new Date(at(ms)), context)) ?? [])
    },
    queue: async () => {
      const rows = await prisma.queueRow.findMany({ orderBy: [{ queuedAt: 'asc' }, { formId: 'asc' }] })
      return rows.map(({ formId, state }) => `${formId} ${state}`)
    },
    outbox: () =>
      prisma.$queryRaw<{ topic: string; key: string; value: string; headers: Record<string, string> }[]>(
        sql`SELECT topic, key, value, headers FROM outbox ORDER BY sequence`,
      ),
    told: async () => {
      const rows = await prisma.$queryRaw<{ value: string }[]>(sql`SELECT value FROM outbox ORDER BY sequence`)
      return rows.map(({ value }) => JSON.parse(value) as FormFact).map(({ type, formId }) => `${type} ${formId}`)
    },
    /** Forgets everything, for the next story. */
    clear: () => prisma.$executeRaw(sql`TRUNCATE users, event_occurrences, queue, decisions, outbox`),
    stop: async () => {
      await prisma.$disconnect()
      await server.$executeRawUnsafe(`DROP DATABASE ${database} WITH (FORCE)`)
      await server.$disconnect()
    },
  }
}

export type GivenEvaluator = Awaited<ReturnType<typeof givenEvaluator>>

function clientOf(url: string, schema: string): PrismaClient {
  return new PrismaClient({ adapter: createAdapter({ url, schema, applicationName: 'spec' }), transactionOptions })
}
