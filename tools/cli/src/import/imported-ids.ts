import { HEADERS, TOPICS } from '@nextvisit/contracts'
import { createLogReader, type LogConnection } from '@nextvisit/log'

/** The `ce_source` of imported records. */
export const IMPORT_SOURCE = 'import'

/** Ids of the imported records after these positions: left by an interrupted run or after a lost answer. */
export async function readImportedIds(
  connection: LogConnection,
  positions: ReadonlyMap<number, bigint>,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  await createLogReader(connection).readFrom(
    TOPICS.userEvents,
    positions,
    ({ records }) => {
      for (const { headers } of records) {
        const id = headers[HEADERS.id]
        if (headers[HEADERS.source] === IMPORT_SOURCE && id !== undefined) ids.add(id)
      }
    },
    { until: 'end' },
  )
  return ids
}
