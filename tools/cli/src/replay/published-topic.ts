import { decodeFacts, foldRecords, type Projection, rebuildInto } from '@nextvisit/consumer'
import { type FetchedRecord, readWatermarks } from '@nextvisit/log'
import { readUnfoldedLetters } from './lost-offsets.ts'
import { countRemaining, type RebuildContext, type RebuildSource, requireBeginning } from './rebuild-source.ts'

/** No consumer folds this topic live, so no operator can set an undecodable batch aside. */
const deadBecause = ({ undecodable }: FetchedRecord): string | undefined => undecodable?.error.message

/**
 * Creates the source of a topic that the consumer itself publishes: the whole topic, then the records in the live outbox.
 * The outbox publishes at least once, so folding a fact twice, even after later facts, must change nothing.
 */
export function publishedTopic(context: RebuildContext, projection: Projection): RebuildSource {
  const { topic } = projection
  const { client, db, schemas, connection, onLost } = context

  const readEnds = async (): Promise<ReadonlyMap<number, bigint>> =>
    new Map(Array.from(await readWatermarks(connection, topic), ([partition, { high }]) => [partition, high]))

  const readOutbox = async (): Promise<FetchedRecord[]> => {
    const { rows } = await client.query<{ key: string; value: string; headers: Record<string, string> }>(
      `SELECT key, value, headers FROM ${schemas.live}.outbox WHERE topic = $1 ORDER BY sequence`,
      [topic],
    )
    return rows.map(({ key, value, headers }) => {
      const place = { topic, partition: 0, offset: 0n, timestampMs: 0 }
      return { ...place, key: Buffer.from(key), value: Buffer.from(value), headers }
    })
  }

  return {
    remaining: async () => countRemaining(context, projection, await readEnds()),
    foldUp: async () => {
      await requireBeginning(connection, topic)
      // Reads the outbox before the ends: a record that leaves it later is in the log by then.
      const waiting = await readOutbox()
      const until = await readEnds()
      await rebuildInto({ ...context, projection, topic, until, deadBecause })
      for (const { partition, offset, lastOffset } of await readUnfoldedLetters(client, schemas.rebuilt, projection))
        if (lastOffset !== undefined)
          onLost({ topic, partition, firstOffset: String(offset), lastOffset: String(lastOffset) })
      const { recorded } = decodeFacts(projection.schema, { records: waiting })
      const { statements } = await foldRecords({ ...context, projection, mode: 'rebuild' }, recorded)
      if (statements.length > 0) await db.executeAll(statements)
    },
  }
}
