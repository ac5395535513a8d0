import { openFact, type Sealed, type SealedUserFact } from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import { type DataKey, keyNameOf } from '@nextvisit/sealing'
import type { AnyFact, Recorded, SealedFactOf } from '../core/projection.ts'
import { contextOf, type FoldParts } from './fold-parts.ts'
import type { DecodedBatch } from './partition-batch.ts'
import type { WantedKey } from './user-keys.ts'

interface FetchedAndDecoded<Fact> extends DecodedBatch<Fact> {
  /** As they were fetched. */
  readonly records: readonly FetchedRecord[]
}

/**
 * Opens the sealed members that the projection reads, of all batches with one search for keys. An identify whose key is destroyed is
 * erased. An event or an answer whose key is destroyed keeps its clear members, because folds count it by those. Members that cannot be
 * opened otherwise make the record a dead letter. Throws like `UserKeys.find`.
 */
export async function openRecords<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  batches: readonly FetchedAndDecoded<Fact>[],
): Promise<readonly DecodedBatch<Fact>[]> {
  const { opens } = parts.projection
  if (!opens) return batches
  const context = contextOf(parts)
  const wanted = new Map<string, WantedKey>()
  const sealed = batches.map(({ recorded }) => {
    const own: SealedRecord[] = []
    for (const [index, record] of recorded.entries()) {
      if (record.isErased) continue
      const fact = record.fact as AnyFact as SealedFactOf<Fact>
      if (!('sealed' in fact) || !fact.sealed || !opens(fact, context)) continue
      const key = { partition: record.partition, userId: fact.userId, keyId: fact.sealed.key }
      const name = keyNameOf(key)
      wanted.set(name, key)
      own.push({ index, name })
    }
    return own
  })
  const keys = await findKeys(parts, wanted)
  return batches.map((batch, index) => openBatch(batch, sealed[index] ?? [], keys))
}

/** A record to open: its index in the batch, and the name of its key. */
interface SealedRecord {
  readonly index: number
  readonly name: string
}

async function findKeys<Fact extends AnyFact, Draft>(
  { projection, userKeys, db }: FoldParts<Fact, Draft>,
  wanted: ReadonlyMap<string, WantedKey>,
): Promise<ReadonlyMap<string, DataKey | 'damaged'>> {
  if (wanted.size === 0) return new Map()
  if (!userKeys) throw new Error(`${projection.name} opens sealed records, but was given no keys`)
  return userKeys.find(db, wanted)
}

/** Copies nothing of a batch without sealed records: most records are events without properties. */
function openBatch<Fact extends AnyFact>(
  batch: FetchedAndDecoded<Fact>,
  sealed: readonly SealedRecord[],
  keys: ReadonlyMap<string, DataKey | 'damaged'>,
): DecodedBatch<Fact> {
  if (sealed.length === 0) return batch
  const recorded = [...batch.recorded]
  const reasons = new Map<bigint, string>()
  for (const { index, name } of sealed) {
    const record = recorded[index] as Recorded<Fact>
    const opened = openRecord(record, keys.get(name))
    if (typeof opened === 'string') reasons.set(record.offset, opened)
    else recorded[index] = opened
  }
  if (reasons.size === 0) return { ...batch, recorded }
  const buried = batch.records.flatMap((record) => {
    const reason = reasons.get(record.offset)
    return reason === undefined ? [] : { record, reason }
  })
  return {
    ...batch,
    recorded: recorded.filter(({ offset }) => !reasons.has(offset)),
    deadLetters: [...batch.deadLetters, ...buried],
  }
}

/** The types whose clear members count without the sealed ones. */
const COUNTED_CLOSED: ReadonlySet<string> = new Set(['EventTracked', 'AnswerGiven', 'FormAnswered'])

/** Returns the opened record, or the reason why it becomes a dead letter. */
function openRecord<Fact extends AnyFact>(
  record: Recorded<Fact>,
  key: DataKey | 'damaged' | undefined,
): Recorded<Fact> | string {
  if (key === 'damaged') return 'sealed: its data key is damaged'
  // Destroyed.
  if (key === undefined) return COUNTED_CLOSED.has(record.fact.type) ? record : { ...record, isErased: true }
  const sealedFact = record.fact as AnyFact as Extract<SealedUserFact, { readonly sealed?: Sealed | undefined }>
  const opened = openFact(sealedFact, key.open)
  if (opened.outcome === 'rejected') return opened.reason
  const { sealed } = sealedFact
  return { ...record, fact: opened.fact as AnyFact as Fact, ...(sealed && { sealed }) }
}
