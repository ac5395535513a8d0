import type { FetchedRecord } from '@nextvisit/log'
import { type KeyRecord, parseKeyRecord, sealedWith } from '@nextvisit/sealing'

/** Reads the last value of each key among records, by its name. Calls `onNoKey` for each record that is neither a key nor its end. */
export function readKeyRecords(
  records: readonly FetchedRecord[],
  onNoKey: (record: FetchedRecord) => void,
): ReadonlyMap<string, KeyRecord> {
  const changes = new Map<string, KeyRecord>()
  for (const record of records) {
    const change = parseKeyRecord(record)
    if (change && isWhole(change)) changes.set(change.name, change)
    else onNoKey(record)
  }
  return changes
}

function isWhole({ wrapped }: KeyRecord): boolean {
  return wrapped === null || sealedWith(wrapped) !== undefined
}
