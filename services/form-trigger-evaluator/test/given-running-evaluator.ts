import type { CatalogView } from '@nextvisit/catalog'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { createPartitionFold, type PartitionFold } from '@nextvisit/consumer'
import {
  type EvaluatorReply,
  SealedFormFact,
  type QueueRowFact,
  OrganizationConfig,
  type ProjectConfig,
  type UserFact,
} from '@nextvisit/contracts'
import { sql } from '@nextvisit/database'
import { FACTS_ARRIVE_WITHIN_MS } from '@nextvisit/domain'
import { batchOf, createTestDatabase, factsAsRecords, storedTestKeys, storeTestKeys } from '@nextvisit/testing'
import { createProjection } from '../src/projection.ts'
import { at, GATEWAY, PARTITION } from './evaluator-fixtures.ts'
import { migrations, openDbs } from './given-evaluator.ts'

export interface Sent {
  readonly fact: UserFact
  /** A gateway waits for the reply. */
  readonly isHeard: boolean
}

/** Creates an evaluator that runs from batch to batch, like the owner of a partition, with a changing catalog. */
export async function givenRunningEvaluator(databaseUrl: string) {
  const database = await createTestDatabase(databaseUrl, { schema: 'forms', migrations })
  const { prisma, db, disconnect } = openDbs(database.url)
  let replies: EvaluatorReply[] = []
  let held: CatalogView = staticCatalog([])
  const listeners: ((organization: string) => void)[] = []
  const catalog: CatalogView = {
    ...held,
    project: (organization, project) => held.project(organization, project),
    revision: (organization) => held.revision(organization),
    onChange: (listener) => void listeners.push(listener),
  }
  const projection = createProjection({
    publishReplies: async (sent) => void replies.push(...sent.map(({ reply }) => reply)),
  })
  const userKeys = storedTestKeys(projection.name)
  let fold: PartitionFold
  let log: ReturnType<typeof factsAsRecords> = []

  const start = async (): Promise<void> => {
    const place = { topic: 'user-events', partition: PARTITION, serviceVersion: 'test' }
    fold = createPartitionFold({ projection, db, userKeys, ...place, catalog })
    await fold.open()
  }

  const fetched = async (from: number): Promise<readonly EvaluatorReply[]> => {
    replies = []
    await fold.fold(batchOf(log, from))
    return replies
  }

  return {
    prisma,
    apply: (project: ProjectConfig): void => {
      held = staticCatalog([OrganizationConfig.parse({ id: 'acme', projects: [project] })])
      for (const listener of listeners) listener('acme')
    },
    /** Folds records in one batch. Returns the replies that gateways wait for. */
    send: async (sent: readonly Sent[]): Promise<readonly EvaluatorReply[]> => {
      await storeTestKeys(
        db,
        sent.map(({ fact }) => fact),
      )
      const from = log.length
      const records = sent.flatMap(({ fact, isHeard }) =>
        factsAsRecords([fact], { partition: PARTITION, ...(isHeard ? { replyTo: GATEWAY } : {}) }),
      )
      log = [...log, ...records.map((record, index) => ({ ...record, offset: BigInt(from + index) }))]
      return fetched(from)
    },
    /** Starts another process, which reads the last `records` of the log again. */
    restart: async (records: number): Promise<readonly EvaluatorReply[]> => {
      await start()
      return fetched(Math.max(0, log.length - records))
    },
    /** Ticks if a tick is due. It settles the time until `ms`. */
    tick: async (ms: number): Promise<void> => {
      const instant = new Date(at(ms + FACTS_ARRIVE_WITHIN_MS))
      const due = await projection.ticks?.due(prisma, instant, { catalog, partitions: [PARTITION] })
      if (due?.includes(PARTITION)) await fold.tick(instant)
    },
    /** Returns the facts for `form-events` since the last call. */
    takeTold: async (): Promise<readonly QueueRowFact[]> => {
      const rows = await prisma.$queryRaw<{ value: string }[]>(
        sql`WITH taken AS (DELETE FROM outbox RETURNING *) SELECT value FROM taken ORDER BY sequence`,
      )
      return rows.map(({ value }) => SealedFormFact.parse(JSON.parse(value)) as QueueRowFact)
    },
    /** Empties every table, and begins a new log. */
    begin: async (): Promise<void> => {
      log = []
      await prisma.$executeRaw(
        sql`TRUNCATE users, event_occurrences, form_answers, queue, shown_forms, decisions, outbox, idempotent_outcomes, idempotent_records, checkpoints`,
      )
      await start()
    },
    stop: async (): Promise<void> => {
      await disconnect()
      await database.drop()
    },
  }
}

export type RunningEvaluator = Awaited<ReturnType<typeof givenRunningEvaluator>>
