import {
  type DeadLetterGroup,
  INTERNAL_ROUTES,
  type OperationsAnswer,
  OperationsQuery,
  type OwnedPartition,
} from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import type { PartitionProgress, ProjectionRunner } from '@nextvisit/projection'
import { type InternalRoute, internalRoute } from '@nextvisit/service-kit'

export interface OperationsRouteParts {
  readonly projection: string
  readonly runner: Pick<ProjectionRunner, 'progress'>
  readonly readDb: Db
}

const MAX_GROUPS = 200

/** What operators ask every consumer: how far this process has folded its partitions, and the dead letters of the service. */
export function createOperationsRoute({ projection, runner, readDb }: OperationsRouteParts): InternalRoute {
  return internalRoute(
    INTERNAL_ROUTES.readOperations,
    OperationsQuery,
    async ({ deadLetters }): Promise<OperationsAnswer> => ({
      partitions: runner.progress().map(ownedPartition),
      deadLetters: deadLetters ? await readDeadLetters(readDb, projection) : [],
    }),
  )
}

function ownedPartition({
  topic,
  partition,
  nextOffset,
  lagRecords,
  lagSeconds,
  alarms,
}: PartitionProgress): OwnedPartition {
  return {
    topic,
    partition,
    nextOffset: String(nextOffset),
    lagRecords: Number(lagRecords),
    lagSeconds,
    alarms: alarms.map(({ kind, offset, recordId = null, code, message, sinceMs }) => ({
      kind,
      offset: String(offset),
      recordId,
      code,
      message,
      since: new Date(sinceMs).toISOString(),
    })),
  }
}

interface GroupRow extends Omit<DeadLetterGroup, 'oldest' | 'newest'> {
  readonly oldest: Date
  readonly newest: Date
}

/** The largest groups first. */
async function readDeadLetters(db: Db, projection: string): Promise<DeadLetterGroup[]> {
  const rows = await db.$queryRaw<GroupRow[]>(sql`
    SELECT reason AS cause,
           count(*) FILTER (WHERE state = 'dead')::int AS dead,
           count(*) FILTER (WHERE state = 'retry')::int AS "toRetry",
           min(record_time) AS oldest, max(record_time) AS newest,
           (array_agg(id ORDER BY record_time, id))[1]::text AS example
    FROM dead_letters
    WHERE projection = ${projection} AND state IN ('dead', 'retry')
    GROUP BY reason ORDER BY count(*) DESC, reason LIMIT ${MAX_GROUPS}`)
  return rows.map((row) => ({ ...row, oldest: row.oldest.toISOString(), newest: row.newest.toISOString() }))
}
