import { setImmediate as nextTurn } from 'node:timers/promises'
import { decodeRecord, isSegmentFact, SealedFormFact, SealedUserFact, TOPICS, type UserRef } from '@nextvisit/contracts'
import { isCausedBefore, keyIdOf } from '@nextvisit/domain'
import { bytesOfRecord, readLog, type FetchedRecord, partitionForKey, withLogAdmin } from '@nextvisit/log'
import type { ZodType } from 'zod'
import type { Answer } from '../api-routes.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Mask } from '../http/mask.ts'
import { bytesOfEntry } from './bounded-entry.ts'
import { behindFence, keptFactOf, type KeptFact } from './kept-fact.ts'
import { fenceOfFact, type NamedFence, type RecordOpener } from './open-records.ts'
import { formEntryOf } from './fact-entries.ts'

export interface UserLog {
  /** Oldest first, like `formFacts`. */
  readonly facts: readonly KeptFact[]
  readonly formFacts: readonly SealedFormFact[]
  readonly reading: Answer<'readTimeline'>['reading']
}

export interface UserLogQuery {
  /** Records of another project are not the user's, whatever their key. */
  readonly user: UserRef
  /** Each step reads the same number of records further back. */
  readonly depth: number
  readonly mask: Mask
  /** Opens the user's records. */
  readonly opener: RecordOpener
  /** Ends the reading. */
  readonly signal: AbortSignal
}

interface UserLogParts extends Pick<Dependencies, 'connection' | 'partitionCount' | 'nowMs'> {
  /** For specs, which use their own topics. */
  readonly topics?: { readonly userEvents: string; readonly formEvents: string }
  /** Default: {@link KEPT}. */
  readonly kept?: { readonly userEvents: Kept; readonly formEvents: Kept }
  /** Default: {@link READ_WITHIN_MS}. */
  readonly withinMs?: number
}

/** Maximum number of a user's facts that are held, and their bytes as entries. */
interface Kept {
  readonly entries: number
  readonly bytes: number
}

const RECORDS_PER_DEPTH = 20_000
const READ_WITHIN_MS = 4_000
/** The first step has more time: a timeline without it would be empty. */
const FIRST_STEP_WITHIN_MS = 10_000
const KEPT = {
  userEvents: { entries: 5_000, bytes: 6 * 2 ** 20 },
  formEvents: { entries: 2_000, bytes: 2 ** 20 },
}
/** Larger records are not shown: no service writes one. */
const MAX_RECORD_BYTES = 2 ** 20

/** Reads the user's part of the log backwards, within bounds of records, time and bytes. Rejects while it is unavailable. */
export async function readUserLog(
  { connection, partitionCount, nowMs, topics = TOPICS, kept = KEPT, withinMs = READ_WITHIN_MS }: UserLogParts,
  { user, depth, mask, opener, signal }: UserLogQuery,
): Promise<UserLog> {
  const partition = partitionForKey(user.userId, partitionCount)
  const common = {
    partition,
    maxRecords: RECORDS_PER_DEPTH * depth,
    withinMs,
    signal,
  }
  const fences = createFences(opener.fence)
  const [userEvents, formEvents] = await Promise.all([
    readBackwards<KeptFact>(connection, {
      ...common,
      topic: topics.userEvents,
      room: kept.userEvents,
      keep: (record) => {
        const { offset } = record
        const fact = factOf(user, record, SealedUserFact)
        if (!fact) return undefined
        if (fact.type === 'UserErased') fences.add(fenceOfFact(fact, offset))
        return keptFactOf(opener.open({ offset, fact }), { offset, keyId: keyIdOf(fact) }, mask)
      },
      bytesOf: ({ entry }) => bytesOfEntry(entry),
    }),
    readBackwards<SealedFormFact>(connection, {
      ...common,
      topic: topics.formEvents,
      room: kept.formEvents,
      keep: (record) => factOf(user, record, SealedFormFact),
      bytesOf: (fact) => bytesOfEntry(formEntryOf(fact)),
    }),
  ])
  const cut = [userEvents, formEvents].filter(({ stopped }) => stopped !== 'beginning')
  const sinceMs = Math.max(...cut.map(({ sinceMs: since = nowMs() }) => since))
  const fence = fences.last()
  return {
    facts: fence ? userEvents.kept.map((fact) => behindFence(fact, fence)) : userEvents.kept,
    formFacts: fence ? formEvents.kept.filter((fact) => !isErasedSegment(fact, fence)) : formEvents.kept,
    reading: {
      partition,
      records: userEvents.readCount + formEvents.readCount,
      stopped: cut[0]?.stopped ?? 'beginning',
      since: cut.length === 0 ? null : new Date(sinceMs).toISOString(),
    },
  }
}

/** Segments say more about a person than the forms that were shown, so nothing of them is left. */
function isErasedSegment(fact: SealedFormFact, { offset }: NamedFence): boolean {
  return isSegmentFact(fact) && isCausedBefore(fact, offset)
}

/**
 * Collects the erasures of the user in the log: the last one may be newer than the one that the user projector has folded.
 * Of several copies of an erasure, the first one counts.
 */
function createFences(folded: NamedFence | undefined) {
  const fences = new Map<string, NamedFence>()
  const add = (fence: NamedFence): void => {
    const known = fences.get(fence.erasureId)
    if (!known || fence.offset < known.offset) fences.set(fence.erasureId, fence)
  }
  if (folded) add(folded)
  return {
    add,
    last: (): NamedFence | undefined =>
      [...fences.values()].toSorted((one, other) => (one.offset < other.offset ? 1 : -1))[0],
  }
}

/** Decodes a record of the user. An unreadable one is a dead letter of each consumer, and is skipped here. */
function factOf<Fact extends UserRef>(
  { organization, project, userId }: UserRef,
  { key, value, headers }: FetchedRecord,
  schema: ZodType<Fact>,
): Fact | undefined {
  if (key?.toString() !== userId || (value?.byteLength ?? 0) > MAX_RECORD_BYTES) return undefined
  const decoded = decodeRecord(schema, value, headers)
  if (decoded.outcome !== 'ok') return undefined
  const { fact } = decoded
  return fact.organization === organization && fact.project === project ? fact : undefined
}

interface BackwardsReading<Item> {
  /** Oldest first. */
  readonly kept: readonly Item[]
  /** Number of records read. */
  readonly readCount: number
  readonly stopped: Answer<'readTimeline'>['reading']['stopped']
  /** Start of the part that was kept completely, in ms since the epoch; undefined: nothing was read. */
  readonly sinceMs: number | undefined
}

interface BackwardsOptions<Item> {
  readonly topic: string
  readonly partition: number
  /** Returns what to keep of a record; undefined: nothing. It must not refer to the bytes of the record. */
  readonly keep: (record: FetchedRecord) => Item | undefined
  readonly bytesOf: (item: Item) => number
  readonly room: Kept
  readonly maxRecords: number
  /** Then the reading ends; the complete steps count. */
  readonly withinMs: number
  /** Ends the reading, which then rejects. */
  readonly signal: AbortSignal
}

/** A person waits for the page. */
const GIVE_UP_AFTER_MS = 5_000
/** Number of records in the first step, and growth factor of each further one. */
const FIRST_STEP = 1_000
const GROWTH = 4
/** A step is shorter if the records of the previous one were large: each step is read completely, or counts nothing. */
const STEP_BYTES = 32 * 2 ** 20
/** Other requests have their turn after each batch. */
const BATCH_RECORDS = 100
const FETCH_BYTES = 512 * 1024

/** Reads a partition backwards from its end, in growing steps, up to a bound. */
async function readBackwards<Item>(
  connection: Dependencies['connection'],
  options: BackwardsOptions<Item>,
): Promise<BackwardsReading<Item>> {
  const { topic, partition, maxRecords, room, withinMs, signal } = options
  const overdue = AbortSignal.timeout(withinMs)
  let deadline = AbortSignal.timeout(Math.max(withinMs, FIRST_STEP_WITHIN_MS))
  const marks = (await withLogAdmin(connection, (admin) => admin.watermarks(topic))).get(partition)
  const { low, high } = marks ?? { low: 0n, high: 0n }
  const bound = high - BigInt(maxRecords) > low ? high - BigInt(maxRecords) : low
  let [end, step, readCount, left] = [high, FIRST_STEP, 0, room]
  let kept: readonly Item[] = []
  let sinceMs: number | undefined
  const reading = (stopped: BackwardsReading<Item>['stopped']) => ({ kept, readCount, stopped, sinceMs })
  while (end > bound) {
    const begin = end - BigInt(step) > bound ? end - BigInt(step) : bound
    const part = await readStep(connection, options, { begin, end, room: left, deadline })
    signal.throwIfAborted()
    deadline = overdue
    if (!part.isComplete) return reading('time')
    readCount += part.readCount
    kept = [...part.kept, ...kept]
    sinceMs = part.sinceMs ?? sinceMs
    left = part.left
    if (part.isCut) return reading('size')
    ;[end, step] = [begin, nextStep(step, part)]
  }
  return reading(bound === low ? 'beginning' : 'records')
}

/** Returns the length of the next step, assuming records as large as in the last one. */
function nextStep(
  step: number,
  { readCount, readBytes }: { readonly readCount: number; readonly readBytes: number },
): number {
  const fitting = readBytes === 0 ? Infinity : Math.floor((STEP_BYTES * readCount) / readBytes)
  return Math.max(1, Math.min(step * GROWTH, fitting))
}

interface Step<Item> extends Pick<BackwardsReading<Item>, 'kept' | 'readCount' | 'sinceMs'> {
  readonly readBytes: number
  /** false: the deadline passed before the end of the step. */
  readonly isComplete: boolean
  /** The oldest items did not fit. */
  readonly isCut: boolean
  readonly left: Kept
}

interface StepBounds {
  readonly begin: bigint
  readonly end: bigint
  readonly room: Kept
  readonly deadline: AbortSignal
}

/** Reads a part of a partition forwards. Of items that do not fit, keeps the newest. */
async function readStep<Item>(
  connection: Dependencies['connection'],
  { topic, partition, keep, bytesOf, signal }: BackwardsOptions<Item>,
  { begin, end, room, deadline }: StepBounds,
): Promise<Step<Item>> {
  const items: { readonly item: Item; readonly bytes: number; readonly atMs: number }[] = []
  let [bytes, readCount, readBytes, readTo] = [0, 0, 0, begin]
  let sinceMs: number | undefined
  let isCut = false

  function add(record: FetchedRecord, item: Item | undefined): void {
    const { timestampMs } = record
    readCount += 1
    readBytes += bytesOfRecord(record)
    sinceMs ??= timestampMs
    if (item === undefined) return
    items.push({ item, bytes: bytesOf(item), atMs: timestampMs })
    bytes += items.at(-1)?.bytes ?? 0
  }

  function dropOldest(): void {
    let [count, freed] = [0, 0]
    while (bytes - freed > room.bytes || items.length - count > room.entries) {
      freed += items[count]?.bytes ?? 0
      count += 1
    }
    if (count === 0) return
    items.splice(0, count)
    bytes -= freed
    isCut = true
  }

  await readLog(connection, {
    topic,
    from: new Map([[partition, begin]]),
    until: new Map([[partition, end]]),
    onBatch: async ({ records, nextOffset }) => {
      for (const record of records) add(record, keep(record))
      dropOldest()
      readTo = nextOffset
      await nextTurn()
    },
    signal: AbortSignal.any([signal, deadline]),
    giveUpAfterMs: GIVE_UP_AFTER_MS,
    maxBatchRecords: BATCH_RECORDS,
    maxBytesPerPartition: FETCH_BYTES,
    withStandIns: true,
  })
  return {
    kept: items.map(({ item }) => item),
    readCount,
    readBytes,
    sinceMs: isCut ? items[0]?.atMs : sinceMs,
    isComplete: readTo >= end,
    isCut,
    left: { bytes: room.bytes - bytes, entries: room.entries - items.length },
  }
}
