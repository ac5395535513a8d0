import { setImmediate as othersGo } from 'node:timers/promises'
import { createLogReader, type FetchedRecord, type LogConnection } from '@nextvisit/log'
import { addToHistory, type CatalogHistory, emptyHistory } from './catalog-history.ts'
import { readCatalogRecord } from './read-catalog-record.ts'

/** Somebody waits in front of a page. */
const GIVE_UP_AFTER_MS = 5_000

/**
 * Every revision that the catalog topic still has, with what it changed. A revision that a later one has replaced stays there
 * for 30 days, or until the topic is compacted. Rejects where the log cannot be read.
 */
export async function readCatalogHistory(connection: LogConnection, topic: string): Promise<CatalogHistory> {
  const history = emptyHistory()
  const onBatch = async ({ records }: { readonly records: readonly FetchedRecord[] }): Promise<void> => {
    for (const fetched of records) {
      addToHistory(history, readCatalogRecord(fetched), new Date(fetched.timestampMs))
      // To compare large organizations takes milliseconds each.
      await othersGo()
    }
  }
  const reader = createLogReader(connection, { giveUpAfterMs: GIVE_UP_AFTER_MS })
  await reader.readFrom(topic, new Map([[0, 0n]]), onBatch, { until: 'end' })
  return history
}
