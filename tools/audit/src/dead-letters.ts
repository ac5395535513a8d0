import { createHash } from 'node:crypto'
import type { FetchedRecord } from '@nextvisit/log'
import type { Fence } from './erasures.ts'
import type { Findings } from './findings.ts'
import type { Reading } from './read-fact.ts'
import { type DeadLetter, recordRefOf, type Snapshot } from './snapshot.ts'

/**
 * Checks that exactly the unreadable records were stored, unchanged, as dead letters, and that those of erased users have
 * lost their bytes.
 */
interface DeadLetterCheck {
  /** Checks a record that the consumer has folded, at least in part. Call it in the order of each partition. */
  readonly see: (record: FetchedRecord, reading: Reading<unknown>) => void
  /**
   * Checks a record whose clear members are readable. `sealed` says whether the consumer can open the others; `unknown`: the
   * consumer may not have tried.
   */
  readonly seeOpened: (record: FetchedRecord, sealed: 'readable' | 'damaged' | 'unknown') => void
  /** Reports the dead letters of records that were not seen. */
  readonly end: () => void
}

export function createDeadLetterCheck(
  { service, checkpoints, deadLetters }: Pick<Snapshot, 'service' | 'checkpoints' | 'deadLetters'>,
  findings: Pick<Findings, 'add'>,
  fencesOf: (userId: string) => readonly Fence[] = () => [],
): DeadLetterCheck {
  /** Letters of each partition that are not reached yet, the next one last. */
  const ahead = byPartition(deadLetters.values())

  const add = (kind: string, { partition, offset }: Pick<DeadLetter, 'partition' | 'offset'>, says: string): void =>
    findings.add(`dead letters: ${kind}`, `${service} ${recordRefOf({ partition, offset })}`, says)
  const notInLog = (letter: DeadLetter): void => add('not in the log', letter, 'is a dead letter, but was never passed')

  /** Returns the next letters up to this offset. */
  function take(partition: number, last: bigint): readonly DeadLetter[] {
    const letters = ahead.get(partition) ?? []
    const begin = letters.findLastIndex(({ offset }) => offset > last) + 1
    return letters.splice(begin).toReversed()
  }

  /** Returns whether the record has the key of a user whose fence the consumer has passed since. */
  function isErased({ partition, offset, key }: FetchedRecord): boolean {
    const next = checkpoints.get(partition) ?? 0n
    return key !== null && fencesOf(String(key)).some((fence) => fence.offset > offset && fence.offset < next)
  }

  function checkRecord(record: FetchedRecord, reading: Reading<unknown>, letter: DeadLetter | undefined): void {
    if (isErased(record)) {
      if (letter && letter.valueSha256 !== null) add('not erased', letter, 'has bytes, although its user was erased')
      return
    }
    if (letter) checkBytes(letter, record)
    if (!letter && reading.outcome === 'unreadable') addMissing(record, reading.because)
  }

  function addMissing(record: FetchedRecord, because: string): void {
    add('missing', record, `is unreadable (${because}), but not a dead letter`)
  }

  /**
   * A consumer may have folded the first records of a batch before it was damaged. The dead letter that describes the batch
   * then lies at the first offset that was not folded. A replay adds another one at the first offset that it cannot rebuild.
   * Records before it may have been dead letters, too. The log no longer tells.
   */
  function checkBatch(record: FetchedRecord, lastOffset: bigint, letters: readonly DeadLetter[]): void {
    const { partition, offset } = record
    const next = checkpoints.get(partition) ?? 0n
    if (next <= lastOffset) {
      for (const letter of letters) if (letter.offset >= next) notInLog(letter)
      return
    }
    const describing = letters.filter((letter) => describes(letter, offset, lastOffset))
    const setAside = describing.at(-1)
    if (!setAside) return add('missing', record, 'is a batch that cannot be decoded, but not a dead letter')
    for (const letter of describing) checkBytes(letter, record)
    for (const letter of letters) if (letter.offset > setAside.offset) notInLog(letter)
  }

  function checkBytes(letter: DeadLetter, { value }: FetchedRecord): void {
    if (letter.valueSha256 === (value && createHash('sha256').update(value).digest('hex'))) return
    add('other bytes', letter, 'is a dead letter with other bytes than the log')
  }

  return {
    seeOpened: (record, sealed) => {
      const letter = deadLetters.get(recordRefOf(record))
      if (isErased(record)) return
      if (sealed === 'damaged' && !letter) addMissing(record, 'its sealed members cannot be opened')
      if (sealed === 'readable' && letter?.state === 'dead')
        add('readable', letter, 'is a dead letter, although the record is readable: retry or discard it')
    },
    see: (record, reading) => {
      const { partition, offset, undecodable } = record
      for (const letter of take(partition, offset - 1n)) notInLog(letter)
      if (undecodable) checkBatch(record, undecodable.lastOffset, take(partition, undecodable.lastOffset))
      else checkRecord(record, reading, take(partition, offset)[0])
    },
    end: () => {
      for (const letters of ahead.values()) letters.toReversed().forEach(notInLog)
    },
  }
}

/** Returns true if a letter describes the batch at these offsets, or its end from the letter's offset at the latest. */
function describes({ offset, omitted }: DeadLetter, firstOffset: bigint, lastOffset: bigint): boolean {
  return omitted !== undefined && omitted.last === lastOffset && omitted.first >= firstOffset && omitted.first <= offset
}

function byPartition(letters: Iterable<DeadLetter>): ReadonlyMap<number, DeadLetter[]> {
  const grouped = Map.groupBy(letters, ({ partition }) => partition)
  for (const group of grouped.values()) group.sort((one, other) => (one.offset < other.offset ? 1 : -1))
  return grouped
}
