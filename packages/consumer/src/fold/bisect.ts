import { HEADERS } from '@nextvisit/contracts'
import { isTransientError, sqlStateOf } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import { asFoldFailure, UserKeysUnreadableError } from '../core/errors.ts'
import {
  type Folded,
  type Outcome,
  outcomeOf,
  type Outcomes,
  type PartitionBatch,
  type Stale,
} from './partition-batch.ts'

/** Commits batches together. Rejects if nothing of them was committed, or if that is not known. */
export type Attempt = (batches: readonly PartitionBatch[]) => Promise<Outcomes>

/** SQLSTATEs of a statement timeout and a transaction timeout. */
const TIMEOUTS: readonly string[] = ['57014', '25P04']
const LOCK_TIMEOUT = '55P03'
/** Our own ids have 36. */
const MAX_ID_CHARACTERS = 100

/**
 * Commits batches of different partitions together. After a failure that the batches themselves cause, halves them until the
 * failing batch is alone, and commits the others. Halves the records of that one until the failing part is one record, and
 * commits the records before it. Also halves batches that take Postgres too long. Never rejects.
 */
export async function bisect(batches: readonly PartitionBatch[], attempt: Attempt): Promise<Outcomes> {
  try {
    return await attempt(batches)
  } catch (error) {
    const [only, ...others] = batches
    if (only && others.length === 0) return new Map([[only, await bisectRecords(only, error, attempt)]])
    if (!isAboutBatches(error)) return new Map(batches.map((batch) => [batch, { outcome: 'failed', error }]))
  }
  const half = batches.length >> 1
  const first = await bisect(batches.slice(0, half), attempt)
  return new Map([...first, ...(await bisect(batches.slice(half), attempt))])
}

async function bisectRecords(batch: PartitionBatch, error: unknown, attempt: Attempt): Promise<Outcome> {
  if (batch.records.length < 2 || !isAboutRecords(error)) return failureOf(batch, error)
  const [first, second] = halvesOf(batch)
  const before = outcomeOf(await bisect([first], attempt), first)
  const isWhole = batch.checkpoint.current().nextOffset >= first.nextOffset
  if (before.outcome !== 'folded' || !isWhole) return before
  const rest = outcomeOf(await bisect([second], attempt), second)
  // The next attempt begins there, and meets the error again.
  return rest.outcome === 'failed' ? before : joined(before, rest)
}

/** Returns the failure, which names the record if it is about one. */
function failureOf({ checkpoint, records }: PartitionBatch, error: unknown): Outcome {
  const [only, ...others] = records
  const isOne = only !== undefined && others.length === 0
  const failed = isOne ? { offset: only.offset, id: shownIdOf(only) } : checkpoint.current().nextOffset
  return { outcome: 'failed', error: asFoldFailure(checkpoint.key, failed, error) }
}

/** Returns the id of a record as text that Postgres can store: another program may have written anything. */
function shownIdOf({ headers }: FetchedRecord): string | undefined {
  return headers[HEADERS.id]?.slice(0, MAX_ID_CHARACTERS).replaceAll('\u0000', '').toWellFormed()
}

/** Fewer records may help, unless Postgres is unavailable or busy, or Kafka does not serve the keys of users. */
function isAboutRecords(error: unknown): boolean {
  if (error instanceof UserKeysUnreadableError) return false
  return !isTransientError(error) || TIMEOUTS.includes(sqlStateOf(error) ?? '')
}

/** A lock that one partition waits for must not hold up the others. */
function isAboutBatches(error: unknown): boolean {
  return isAboutRecords(error) || sqlStateOf(error) === LOCK_TIMEOUT
}

function halvesOf(batch: PartitionBatch): readonly [PartitionBatch, PartitionBatch] {
  const { records, nextOffset } = batch
  const half = records.length >> 1
  const between = records[half]?.offset ?? nextOffset
  return [
    { ...batch, records: records.slice(0, half), nextOffset: between },
    { ...batch, records: records.slice(half) },
  ]
}

/** Joins the outcomes of two parts that were committed one after the other. */
function joined(first: Folded, second: Folded | Stale): Folded | Stale {
  const after = Promise.all([first.after, second.after])
  if (second.outcome === 'stale') return { ...second, after }
  return {
    outcome: 'folded',
    records: first.records + second.records,
    deadLetters: first.deadLetters + second.deadLetters,
    duplicates: first.duplicates + second.duplicates,
    after,
  }
}
