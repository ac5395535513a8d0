import { createPartitionFold, type PartitionFold, type TickContext } from '@nextvisit/consumer'
import type { EvaluatorReply, QueueRowFact, UserFact } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type CommitDbOptions, createAdapter, openCommitDb, sql } from '@nextvisit/database'
import { FACTS_ARRIVE_WITHIN_MS } from '@nextvisit/domain'
import { batchOf, createTestDatabase, factsAsRecords, storedTestKeys, storeTestKeys } from '@nextvisit/testing'
import { PrismaClient } from '../generated/prisma/client.ts'
import type { StoppedForm } from '../src/gate-counts.ts'
import { formTriggerEvaluator } from '../src/consumer.ts'
import { createProjection } from '../src/projection.ts'
import { at, GATEWAY, PARTITION } from './evaluator-fixtures.ts'

export const { migrations } = formTriggerEvaluator

/** Opens both kinds of connections to the tables. */
export function openDbs(url: string, own: Partial<CommitDbOptions> = {}) {
  const options = { url, schema: 'forms', applicationName: 'spec', ...own }
  const prisma = new PrismaClient({ adapter: createAdapter(options) })
  const db = openCommitDb(options)
  return { prisma, db, disconnect: () => Promise.all([prisma.$disconnect(), db.$disconnect()]) }
}

/** Creates the projection on a database of its own, fed batch by batch through the core. */
export async function givenEvaluator(databaseUrl: string, options: Partial<CommitDbOptions> = {}) {
  const database = await createTestDatabase(databaseUrl, { schema: 'forms', migrations })
  const { prisma, db, disconnect } = openDbs(database.url, options)
  let replies: EvaluatorReply[] = []
  let stopped: StoppedForm[] = []
  const projection = createProjection({
    publishReplies: async (sent) => {
      replies.push(...sent.map(({ reply }) => reply))
    },
    onStopped: (forms) => void stopped.push(...forms),
  })

  const userKeys = storedTestKeys(projection.name)

  /** A catalog for each batch: stories change the workspace. */
  async function openFold({ catalog, mode, partition }: TickContext): Promise<PartitionFold> {
    const place = { topic: 'user-events', partition, serviceVersion: 'test' }
    const fold = createPartitionFold({ projection, db, userKeys, ...place, catalog, mode })
    await fold.open()
    return fold
  }

  async function foldBatch(
    context: TickContext,
    facts: readonly UserFact[],
    waiting: { readonly replyTo?: string },
  ): Promise<readonly EvaluatorReply[]> {
    await storeTestKeys(db, facts)
    const fold = await openFold(context)
    const { nextOffset } = fold.checkpoint()
    const records = factsAsRecords(facts, { partition: PARTITION, ...waiting })
    const batch = batchOf(records.map((record) => ({ ...record, offset: record.offset + nextOffset })))
    replies = []
    await fold.fold({ ...batch, fetchedFrom: nextOffset, nextOffset: nextOffset + batch.nextOffset })
    return replies
  }

  return {
    prisma,
    db,
    /** Folds one batch of records that gateways wait for. Returns the replies. */
    fold: (context: TickContext, ...facts: UserFact[]) => foldBatch(context, facts, { replyTo: GATEWAY }),
    /** Folds one batch that no gateway waits for. */
    foldUnheard: (context: TickContext, ...facts: UserFact[]) => foldBatch(context, facts, {}),
    /** Ticks if a tick is due, like the core. It settles the time until `ms` after the start of the story. */
    tick: async (context: TickContext, ms: number): Promise<void> => {
      const { catalog, partition } = context
      const instant = new Date(at(ms + FACTS_ARRIVE_WITHIN_MS))
      const due = await projection.ticks?.due(prisma, instant, { catalog, partitions: [partition, 99] })
      if (!due?.includes(partition)) return
      const fold = await openFold(context)
      await fold.tick(instant)
    },
    /** Folds a record that cannot be decoded. Returns the offset of the dead letter. */
    foldUnreadable: async (context: TickContext): Promise<bigint> => {
      const fold = await openFold(context)
      const { nextOffset: offset } = fold.checkpoint()
      const [record] = factsAsRecords([eventTracked()], { partition: PARTITION })
      const batch = batchOf(record ? [{ ...record, offset, value: Buffer.from('{') }] : [])
      await fold.fold({ ...batch, fetchedFrom: offset, nextOffset: offset + 1n })
      return offset
    },
    /** Replaces a dead letter by this fact, and retries it, like an operator. */
    retry: async (context: TickContext, offset: bigint, fact: UserFact): Promise<void> => {
      await storeTestKeys(db, [fact])
      const [record] = factsAsRecords([fact])
      const [value, headers] = [String(record?.value), JSON.stringify(record?.headers)]
      await prisma.$executeRaw(sql`
        UPDATE dead_letters SET state = 'retry', value = convert_to(${value}, 'UTF8'), headers = ${headers}::json
        WHERE "offset" = ${offset}`)
      const fold = await openFold(context)
      await fold.retry()
    },
    /** Returns the forms that gates stopped since the last call. */
    takeStopped: (): readonly string[] => {
      const taken = stopped.map(
        ({ organization, project, formId, reason }) => `${organization}/${project}/${formId} ${reason}`,
      )
      stopped = []
      return taken
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
      return rows.map(({ value }) => JSON.parse(value) as QueueRowFact).map(({ type, formId }) => `${type} ${formId}`)
    },
    /** Empties every table except the checkpoints, for the next story. */
    clear: () =>
      prisma.$executeRaw(
        sql`TRUNCATE users, event_occurrences, form_answers, queue, shown_forms, decisions, outbox, idempotent_outcomes`,
      ),
    stop: async () => {
      await disconnect()
      await database.drop()
    },
  }
}

export type GivenEvaluator = Awaited<ReturnType<typeof givenEvaluator>>
