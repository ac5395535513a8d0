import { HEADERS, TOPICS } from '@nextvisit/contracts'
import { createLogReader, type LogConnection } from '@nextvisit/log'

/** What an import's records say in `ce_source`. */
export const IMPORT_SOURCE = 'import'

/** Ids of the imported records behind these positions: what a run that was cut off, or an answer that was lost, has left. */
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
