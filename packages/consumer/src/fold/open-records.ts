import { openFact, type SealedUserFact } from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import type { DataKey } from '@nextvisit/sealing'
import type { AnyFact, Recorded } from '../core/projection.ts'
import { contextOf, type FoldParts } from './fold-parts.ts'
import type { DecodedBatch } from './partition-batch.ts'
import { nameOf, type WantedKey } from './user-keys.ts'

interface FetchedAndDecoded<Fact> extends DecodedBatch<Fact> {
  /** As they were fetched. */
  readonly records: readonly FetchedRecord[]
}

/**
 * Opens the sealed members that the projection reads, of all batches with one search for keys. An identify whose key is destroyed is
 * erased. An event whose key is destroyed keeps its clear members: other consumers count it without opening it. Members that cannot be
 * opened otherwise make the record a dead letter. Throws like `UserKeys.find`.
 */
export async function openRecords<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  batches: readonly FetchedAndDecoded<Fact>[],
): Promise<readonly DecodedBatch<Fact>[]> {
  const { projection, userKeys, db } = parts
  const { opens } = projection
  if (!opens) return batches
  const context = contextOf(parts)
  const wanted = new Map<string, WantedKey>()
  const names = new Map<Recorded<Fact>, string>()
  for (const { recorded } of batches) {
    for (const record of recorded) {
      const fact = record.fact as AnyFact as SealedUserFact
      if (record.isErased || !('sealed' in fact) || !fact.sealed || !opens(fact, context)) continue
      const key = { partition: record.partition, userId: fact.userId, keyId: fact.sealed.key }
      const name = nameOf(key)
      names.set(record, name)
      wanted.set(name, key)
    }
  }
  if (wanted.size === 0) return batches.map((batch) => openBatch(batch, names, new Map()))
  if (!userKeys) throw new Error(`${projection.name} opens sealed records, but was given no keys`)
  const keys = await userKeys.find(db, wanted)
  return batches.map((batch) => openBatch(batch, names, keys))
}

function openBatch<Fact extends AnyFact>(
  batch: FetchedAndDecoded<Fact>,
  names: ReadonlyMap<Recorded<Fact>, string>,
  keys: ReadonlyMap<string, DataKey | 'damaged'>,
): DecodedBatch<Fact> {
  const recorded: Recorded<Fact>[] = []
  const deadLetters = [...batch.deadLetters]
  const bury = ({ offset }: Recorded<Fact>, reason: string): void => {
    const record = batch.records.find((one) => one.offset === offset)
    if (record) deadLetters.push({ record, reason })
  }
  for (const record of batch.recorded) {
    const name = names.get(record)
    const key = name === undefined ? undefined : keys.get(name)
    if (name === undefined && isReadable(record)) recorded.push(record)
    else if (name === undefined) bury(record, 'sealed: is missing')
    else if (key === undefined)
      recorded.push(record.fact.type === 'EventTracked' ? record : { ...record, isErased: true })
    else if (key === 'damaged') bury(record, 'sealed: its data key is damaged')
    else {
      const opened = openFact(record.fact as AnyFact as SealedUserFact, key.open)
      if (opened.outcome === 'ok') recorded.push({ ...record, fact: opened.fact as AnyFact as Fact })
      else bury(record, opened.reason)
    }
  }
  return { ...batch, recorded, deadLetters }
}

/** Until every writer seals, an identify may have its personal members in clear. */
function isReadable({ fact, isErased }: Recorded<AnyFact>): boolean {
  if (isErased || fact.type !== 'IdentifyRequested' || 'sealed' in fact) return true
  return 'userName' in fact && 'operations' in fact && 'device' in fact
}
