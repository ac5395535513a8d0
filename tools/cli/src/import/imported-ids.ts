import { HEADERS, TOPICS } from '@nextvisit/contracts'
import { createLogReader, type LogConnection } from '@nextvisit/log'

/** `ce_source` of imported records. */
export const IMPORT_SOURCE = 'import'

/** Reads the ids of imported records after these positions, which an interrupted run or a lost answer left. */
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
