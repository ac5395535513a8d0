import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { readLog, type FetchedRecord, type LogConnection } from '@nextvisit/log'
import { addToHistory, type CatalogHistory, emptyHistory } from './catalog-history.ts'
import { readCatalogRecord } from './read-catalog-record.ts'

/** A user waits for the page. */
const GIVE_UP_AFTER_MS = 5_000

/**
 * Reads every revision that the catalog topic still has, with its changes. A replaced revision stays there for 30 days, or
 * until the topic is compacted. Rejects if the log cannot be read.
 */
export async function readCatalogHistory(connection: LogConnection, topic: string): Promise<CatalogHistory> {
  const history = emptyHistory()
  const onBatch = async ({ records }: { readonly records: readonly FetchedRecord[] }): Promise<void> => {
    for (const fetched of records) {
      addToHistory(history, readCatalogRecord(fetched), new Date(fetched.timestampMs))
      // Comparing a large organization takes milliseconds.
      await yieldToOthers()
    }
  }
  await readLog(connection, {
    topic,
    from: new Map([[0, 0n]]),
    onBatch,
    until: 'end',
    // The history omits them.
    withStandIns: true,
    giveUpAfterMs: GIVE_UP_AFTER_MS,
  })
  return history
}
