import { setTimeout as sleep } from 'node:timers/promises'
import { encodeRecord, HEADERS, type ActivityFact, TOPICS } from '@nextvisit/contracts'
import { readLog, type LogConnection, partitionForKey, type Publisher, type RecordToPublish } from '@nextvisit/log'
import type { DataKey } from '@nextvisit/sealing'
import { sealWith } from '@nextvisit/user-keys'
import { CliError } from '../errors.ts'

/**
 * Records per chunk, below the publisher's bounds: a chunk is one request, and each partition takes all of its records
 * or none.
 */
export const CHUNK_RECORDS = 500
export const CHUNK_BYTES = 800_000

/** `ce_source` of imported records. */
const IMPORT_SOURCE = 'import'
export const PUBLISH_WITHIN_MS = 15_000
export const TRIES = 10
export const TRY_AGAIN_AFTER_MS = 1_000

export interface ImportLog {
  readonly connection: LogConnection
  readonly publisher: Publisher
  readonly partitions: number
  /** Default `user-events`. */
  readonly topic?: string
  /** Default `user-keys`. */
  readonly keysTopic?: string
}

/** A fact with the data key that seals its personal members. undefined: it has none. */
export interface FactToSeal {
  readonly fact: ActivityFact
  readonly key: DataKey | undefined
}

/**
 * Publishes a chunk and moves `positions` after it. If the outcome of a record is unknown, it reads the log from `positions`
 * and sends only missing records again. (If the first one still arrives later, consumers drop the duplicate.)
 */
export async function publishFacts(
  facts: readonly FactToSeal[],
  positions: Map<number, bigint>,
  log: ImportLog,
): Promise<void> {
  const { connection, publisher } = log
  const before = new Map(positions)
  let missing = facts.map((fact) => recordOf(fact, log))
  for (let tries = 1; ; tries += 1) {
    const deadlineAt = performance.now() + PUBLISH_WITHIN_MS
    const outcomes = await Promise.all(missing.map((record) => publisher.publish(record.toPublish, deadlineAt)))
    for (const [index, { toPublish }] of missing.entries()) {
      const outcome = outcomes[index]
      if (outcome?.outcome === 'published') raise(positions, toPublish.partition, outcome.offset + 1n)
    }
    const lost = missing.filter((_record, index) => outcomes[index]?.outcome !== 'published')
    if (lost.length === 0) return
    if (tries === TRIES) throw notAcceptedError()
    await sleep(TRY_AGAIN_AFTER_MS)
    const there = await readImportedIds(connection, before)
    missing = lost.filter(({ id }) => !there.has(id))
    if (missing.length === 0) return
  }
}

/** Reads the ids of imported records after these positions, which an interrupted run or a lost answer left. */
export async function readImportedIds(
  connection: LogConnection,
  positions: ReadonlyMap<number, bigint>,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  await readLog(connection, {
    topic: TOPICS.userEvents,
    from: positions,
    onBatch: ({ records }) => {
      for (const { headers } of records) {
        const id = headers[HEADERS.id]
        if (headers[HEADERS.source] === IMPORT_SOURCE && id !== undefined) ids.add(id)
      }
    },
    until: 'end',
    withStandIns: true,
  })
  return ids
}

export function notAcceptedError(): CliError {
  return new CliError('Kafka does not accept the records. Nothing is lost: run the import again to continue.')
}

function recordOf(
  { fact, key }: FactToSeal,
  { partitions, topic = TOPICS.userEvents }: ImportLog,
): { readonly id: string; readonly toPublish: RecordToPublish } {
  const seal = key && sealWith(key)
  const encoded = encodeRecord(fact, { source: IMPORT_SOURCE, time: fact.received, seal })
  const partition = partitionForKey(fact.userId, partitions)
  return { id: fact.id, toPublish: { topic, partition, key: fact.userId, ...encoded } }
}

function raise(positions: Map<number, bigint>, partition: number, position: bigint): void {
  if (position > (positions.get(partition) ?? 0n)) positions.set(partition, position)
}
