import type { CatalogView } from '@nextvisit/catalog'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { createPartitionFold, type FoldMode, offlineParts, type PartitionFold } from '@nextvisit/consumer'
import { decodeRecord, SealedFormFact, type SegmentFact, TOPICS, type UserFact } from '@nextvisit/contracts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { type CommitDb, type CommitDbOptions, createAdapter, type Db, openCommitDb, sql } from '@nextvisit/database'
import { batchOf, createTestDatabase, factsAsRecords, storedTestKeys, storeTestKeys } from '@nextvisit/testing'
import { PrismaClient } from '../generated/prisma/client.ts'
import { userProjector } from '../src/consumer.ts'
import { createProjection } from '../src/projection.ts'

/** A segment in the form of a workspace file. */
export interface WrittenSegment {
  readonly id: string
  readonly where: object
}

/** Returns a catalog at this revision: acme's shop with these segments. Without segments, there is no shop. */
export function catalogOf(segments: readonly WrittenSegment[] | undefined, revision = 1): CatalogView {
  const projects = segments ? [{ id: 'shop', segments: segments as never }] : []
  const held = staticCatalog([organizationConfig({ id: 'acme', projects })])
  return {
    ...held,
    revision: () => revision,
    project: (organization, project) => {
      const found = held.project(organization, project)
      return found && { ...found, revision }
    },
  }
}

export interface Turn {
  readonly catalog: CatalogView
  readonly partition?: number
  /** Default: the database of the spec. */
  readonly db?: CommitDb
  /** Default: `live`. */
  readonly mode?: FoldMode
}

/** Creates the projection on a database of its own, fed batch by batch through the core. */
export async function givenProjector(databaseUrl: string, own: Partial<CommitDbOptions> = {}) {
  const database = await createTestDatabase(databaseUrl, userProjector)
  const options = { url: database.url, schema: 'users', applicationName: 'spec', ...own }
  const prisma = new PrismaClient({ adapter: createAdapter(options) })
  const ownDb = openCommitDb(options)
  const projection = createProjection(offlineParts(async () => 1))
  const userKeys = storedTestKeys(projection.name)

  async function openFold({ catalog, partition = 0, db = ownDb, mode = 'live' }: Turn): Promise<PartitionFold> {
    const place = { topic: 'user-events', partition, serviceVersion: 'test' }
    const fold = createPartitionFold({ projection, db, userKeys, ...place, catalog, mode })
    await fold.open()
    return fold
  }

  async function foldBatch(turn: Turn, facts: readonly UserFact[], { isSetAside = false } = {}) {
    await storeTestKeys(turn.db ?? ownDb, facts)
    const fold = await openFold(turn)
    const { nextOffset } = fold.checkpoint()
    const records = factsAsRecords(facts, { partition: turn.partition ?? 0 })
    const batch = batchOf(records.map((record) => ({ ...record, offset: record.offset + nextOffset })))
    if (isSetAside) fold.makeDeadLetter(nextOffset, 'spec', { isBatch: false })
    return fold.fold({ ...batch, fetchedFrom: nextOffset, nextOffset: nextOffset + batch.nextOffset })
  }

  async function isDue({ catalog, partition = 0 }: Turn, instant: string): Promise<boolean> {
    const due = await projection.ticks?.due(prisma, new Date(instant), { catalog, partitions: [0, 1, 2, 3, 99] })
    return due?.includes(partition) ?? false
  }

  /** Ticks if a tick is due, like the core. Returns if it was due, and if it wrote anything. */
  async function tickOnce(turn: Turn, instant: string) {
    if (!(await isDue(turn, instant))) return { wasDue: false, hasWritten: false }
    const fold = await openFold(turn)
    const before = fold.checkpoint()
    await fold.tick(new Date(instant))
    return { wasDue: true, hasWritten: fold.checkpoint().version > before.version }
  }

  return {
    prisma,
    db: ownDb,
    openFold,
    fold: (turn: Turn, ...facts: UserFact[]) => foldBatch(turn, facts),
    rebuild: (turn: Turn, ...facts: UserFact[]) => foldBatch({ ...turn, mode: 'rebuild' }, facts),
    /** Makes a record a dead letter. */
    setAside: (turn: Turn, fact: UserFact) => foldBatch(turn, [fact], { isSetAside: true }),
    /** Retries all dead letters. */
    retry: async (turn: Turn): Promise<void> => {
      await prisma.$executeRaw(sql`UPDATE dead_letters SET state = 'retry'`)
      await (await openFold(turn)).retry()
    },
    /** Returns the changed memberships in the outbox, in order, and empties it as if they were published. */
    takePublished: async (): Promise<readonly SegmentFact[]> => {
      const rows = await prisma.$queryRaw<
        { key: string; topic: string; value: string; headers: Record<string, string> }[]
      >(sql`SELECT topic, key, value, headers FROM outbox ORDER BY sequence`)
      await prisma.$executeRaw(sql`DELETE FROM outbox`)
      return rows.map(({ topic, key, value, headers }) => {
        const decoded = decodeRecord(SealedFormFact, Buffer.from(value), headers)
        if (decoded.outcome === 'rejected') throw new Error(decoded.reason)
        if (topic !== TOPICS.formEvents || key !== decoded.fact.userId)
          throw new Error(`${value} is for ${topic}/${key}`)
        return decoded.fact as SegmentFact
      })
    },
    isDue,
    /** Ticks if a tick is due. Returns true if it wrote anything. */
    tick: async (turn: Turn, instant: string): Promise<boolean> => (await tickOnce(turn, instant)).hasWritten,
    /** Ticks until none is due. Returns the number of ticks that wrote anything. */
    settle: async (turn: Turn, instant: string): Promise<number> => {
      for (let ticks = 0; ; ) {
        const { wasDue, hasWritten } = await tickOnce(turn, instant)
        if (!wasDue) return ticks
        if (hasWritten) ticks += 1
      }
    },
    clear: () =>
      prisma.$executeRaw(sql`
      TRUNCATE users, user_events, form_answers, segment_members, segment_counts, segment_progress, checkpoints,
        idempotent_records, erased_users, outbox, dead_letters`),
    stop: async () => {
      await ownDb.$disconnect()
      await prisma.$disconnect()
      await database.drop()
    },
  }
}

/** Reads every row of the projection in a comparable form. */
export function readAllRows(db: Db): Promise<unknown> {
  return db.$queryRaw(sql`
    SELECT 'users' AS name, to_jsonb(users) AS row FROM users
    UNION ALL SELECT 'user_events', to_jsonb(user_events) FROM user_events
    UNION ALL SELECT 'form_answers', to_jsonb(form_answers) FROM form_answers
    UNION ALL SELECT 'segment_members', to_jsonb(segment_members) FROM segment_members
    UNION ALL SELECT 'segment_counts', to_jsonb(segment_counts) FROM segment_counts WHERE members <> 0
    UNION ALL SELECT 'segment_progress', to_jsonb(segment_progress) FROM segment_progress WHERE users <> 0
    ORDER BY 1, 2`)
}
