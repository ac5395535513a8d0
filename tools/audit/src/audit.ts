import { type FetchedRecord, type LogConnection, readWatermarks, type Watermarks } from '@nextvisit/log'
import { createLedgerModel, type LedgerEntry } from './caller-ledger.ts'
import { type Catalog, createCatalog } from './catalog.ts'
import { createFenceReader, createFences, type Fences, isFenced } from './erasures.ts'
import { type ClearFact, userKey, type UserRef } from './facts.ts'
import { createFindings, type Findings, type FindingsOfKind } from './findings.ts'
import { createFold, lastFence } from './fold.ts'
import { createCollectedFold } from './fold-collected.ts'
import { createDeliveriesFold } from './fold-deliveries.ts'
import { auditErasers } from './fold-erasures.ts'
import { foldDecisions, type FoldDecisionsOptions } from './fold-decisions.ts'
import type { UserRange } from './model.ts'
import { createQueueModel } from './queue-model.ts'
import { createEvaluationModel, type EvaluationModel } from './evaluation-model.ts'
import { type Reading, readUserFact } from './read-fact.ts'
import { readAll, requireWhole } from './read-all.ts'
import { createSegmentChangesModel } from './segment-changes.ts'
import { createSecretKeys } from './secret-keys.ts'
import { openSnapshot, type ReadModel, recordRefOf, type Snapshot } from './snapshot.ts'
import { type Opened, readUserKeys, type UserKeys } from './user-keys.ts'
import { createWebhookEndpoints } from './webhook-endpoints.ts'

const TOPICS = {
  userEvents: 'user-events',
  formEvents: 'form-events',
  catalog: 'catalog',
  userKeys: 'user-keys',
  erasures: 'erasures',
}
/** The consumers that do not fold `user-events`. */
const OTHERS = {
  'answer-collector': 'formEvents',
  'webhook-dispatcher': 'formEvents',
  'user-eraser': 'erasures',
} as const
/** Number of users, with all of their records and keys, that one pass over the log keeps in memory. */
const USERS_A_PASS = 250_000

interface AuditOptions {
  readonly connection: LogConnection
  readonly readModels: readonly ReadModel[]
  /** The value of NEXTVISIT_SECRET_KEY, which opens the records of users. Not needed while the log has no sealed record. */
  readonly secretKey?: string | undefined
  /** For specs, which use their own topics. */
  readonly topics?: typeof TOPICS
  /** All requests of all callers, if the callers recorded them. */
  readonly ledger?: readonly LedgerEntry[]
  /** True if there are no writes, so that a checkpoint before the log's end is a difference, not only lag. */
  readonly isAtRest?: boolean
  /** Users in memory at once. More users need further passes over the log. */
  readonly usersAPass?: number
  /** Receives the number of read records. `ofRecords`: total of all passes. */
  readonly onProgress?: (progress: { readonly records: number; readonly ofRecords: number }) => void
}

export interface AuditReport {
  /** Number of records on `user-events`. */
  readonly records: number
  readonly passes: number
  /** Number of records after each consumer's checkpoints. These were not compared. */
  readonly lag: readonly { readonly service: string; readonly records: number }[]
  readonly queueing: ReturnType<EvaluationModel['counts']>
  /** Revisions that are gone. Rows that depend on them were not compared. */
  readonly compacted: ReturnType<Catalog['compacted']>
  readonly findings: readonly FindingsOfKind[]
}

/**
 * Recomputes the read models from the log alone, and reports differences in the read models, the evaluator's decisions and
 * the callers' ledger. It is read-only and shares no code with the services. On a running system it compares each
 * schema in one snapshot with the log up to the checkpoints of the snapshot. Throws `AuditError` if it cannot compare,
 * and the errors of an unavailable Kafka or Postgres.
 */
export async function audit(options: AuditOptions): Promise<AuditReport> {
  const { connection, readModels, topics = TOPICS } = options
  // The queue's snapshot includes the decisions that are in the log now, and perhaps later ones.
  const decidedBefore = await readWatermarks(connection, topics.formEvents)
  const snapshots = await openSnapshots(readModels, topics)
  try {
    const log = await readWatermarks(connection, topics.userEvents)
    requireWhole(topics.userEvents, log)
    requireWhole(topics.formEvents, decidedBefore)
    const decided = await readWatermarks(connection, topics.formEvents)
    return await compareWithLog(options, { snapshots, log, decidedBefore, decided })
  } finally {
    await Promise.allSettled(snapshots.map(({ close }) => close()))
  }
}

interface Compared {
  readonly snapshots: readonly Snapshot[]
  readonly log: ReadonlyMap<number, Watermarks>
  /** End of `form-events` before the snapshots. */
  readonly decidedBefore: ReadonlyMap<number, Watermarks>
  /** End of `form-events` after the snapshots. */
  readonly decided: ReadonlyMap<number, Watermarks>
}

async function compareWithLog(
  { connection, ledger, isAtRest = false, usersAPass = USERS_A_PASS, onProgress = () => {}, ...options }: AuditOptions,
  { snapshots, log, decidedBefore, decided }: Compared,
): Promise<AuditReport> {
  const { secretKey, topics = TOPICS } = options
  const findings = createFindings()
  const { catalog, endpoints } = await readCatalog(connection, topics.catalog)
  const fences = createFences()
  const readFences = createFenceReader(connection, topics.userEvents, fences)
  const secretKeys = createSecretKeys(secretKey)
  const queuedBy = ledger && new Map<string, number>()
  const evaluation = createEvaluationModel(findings, catalog)
  const { mayBeOffered } = evaluation
  const isErasedFor = (publisher: Snapshot['service']) => {
    const { checkpoints } = snapshots.find(({ service }) => service === publisher) ?? { checkpoints: new Map() }
    return (fact: UserRef & { readonly causeOffset?: number }): boolean => {
      const fence = lastFence(fences, fact, checkpoints)
      return fence !== undefined && BigInt(fact.causeOffset ?? -1) < fence.offset
    }
  }
  const isErased = isErasedFor('form-trigger-evaluator')
  const queue = createQueueModel({ findings, catalog, isAtRest, mayBeOffered, isErased, queuedBy })
  const segmentChanges = createSegmentChangesModel({ isErased: isErasedFor('user-projector'), findings })
  const folds = snapshots
    .filter(({ service }) => !(service in OTHERS))
    .map((snapshot) =>
      createFold({ snapshot, log, catalog, queue, evaluation, segmentChanges, fences, isAtRest, findings }),
    )
  const queueFences = createFences('QueueErased')
  const readQueueFences = createFenceReader(connection, topics.formEvents, queueFences)
  const collectors = snapshots
    .filter(({ service }) => service === 'answer-collector')
    .map((snapshot) => createCollectedFold({ snapshot, log: decided, fences: queueFences, isAtRest, findings }))
  // Its snapshot may contain the answer to an erasure that comes after `decided`.
  await readQueueFences()
  const dispatchers = await Promise.all(
    snapshots
      .filter(({ service }) => service === 'webhook-dispatcher')
      .map((snapshot) =>
        createDeliveriesFold({
          snapshot,
          log: decided,
          fences: queueFences,
          findEndpoint: endpoints.find,
          nowMs: Date.now(),
          isAtRest,
          findings,
        }),
      ),
  )
  const readers = [...collectors, ...dispatchers]
  const all = [...folds, ...readers]
  const ledgerModel = ledger && createLedgerModel(ledger)
  const ranges = rangesOf(Math.ceil((await countUsers(snapshots)) / usersAPass))
  const ofRecords = recordsIn(log) * ranges.length
  let records = 0

  const foldForm: FoldDecisionsOptions['foldForm'] = (fact, how) => {
    queue.foldForm(fact, how)
    evaluation.foldForm(fact)
  }
  const { foldSegment } = segmentChanges
  for (const [pass, range] of ranges.entries()) {
    const topic = topics.formEvents
    const isOfPass = (userId: string): boolean => isIn(range, userId)
    const keys = await readUserKeys({ connection, topic: topics.userKeys, secretKeys, isMine: isOfPass })
    // After the keys: the fence of a user precedes the end of the user's keys.
    await readFences()
    await foldDecisions({ connection, topic, decidedBefore, snapshots, foldForm, foldSegment, isMine: isOfPass })
    await readAll(connection, topics.userEvents, log, (record) => {
      records += 1
      if (records % 1_000 === 0) onProgress({ records, ofRecords })
      const reading = readUserFact(record)
      const isMine = reading.outcome === 'read' && isOfPass(reading.fact.userId)
      if (isMine) {
        ledgerModel?.see(reading.fact)
        queue.see(reading.fact, record.offset)
      }
      const open = opener(record, reading, { keys, fences, findings })
      for (const fold of folds) fold.fold(record, reading, { isMine, isFirstPass: pass === 0, open })
    })
    if (readers.length > 0) {
      await readQueueFences()
      const users = { isMine: isOfPass, isFirstPass: pass === 0, keys }
      await readAll(connection, topic, decided, (record) => readers.forEach(({ fold }) => fold(record, users)))
    }
    for (const fold of all) await fold.compareUsers(range)
  }
  for (const fold of all) await fold.compareShared()
  const erasers = await auditErasers({ connection, topic: topics.erasures, snapshots, fences, isAtRest, findings })
  ledgerModel?.compare(queuedBy ?? new Map(), findings)
  onProgress({ records: ofRecords, ofRecords })
  return {
    records: recordsIn(log),
    passes: ranges.length,
    lag: [...all, ...erasers].map(({ service, lag }) => ({ service, records: lag })),
    queueing: evaluation.counts(),
    compacted: catalog.compacted(),
    findings: findings.byKind(),
  }
}

interface OpenerParts {
  readonly keys: UserKeys
  readonly fences: Fences
  readonly findings: Findings
}

/** Returns a function that opens a record once for all consumers, and reports a key that is missing without an erasure. */
function opener(
  record: FetchedRecord,
  reading: Reading<ClearFact>,
  { keys, fences, findings }: OpenerParts,
): () => Opened | undefined {
  let opened: Opened | undefined
  return () => {
    if (opened || reading.outcome === 'unreadable') return opened
    const { fact } = reading
    if (fact.type === 'UserErased') return undefined
    opened = keys.open(fact)
    const isAccounted = () => fences.ofUser(userKey(fact)).some((fence) => isFenced(fact, record.offset, fence))
    if (opened.outcome === 'lost' && !isAccounted()) {
      findings.add('user-keys: missing', `${userKey(fact)} record ${recordRefOf(record)}`, 'has no key, but no erasure')
    }
    return opened
  }
}

async function openSnapshots(readModels: readonly ReadModel[], topics: typeof TOPICS): Promise<Snapshot[]> {
  const others: Readonly<Partial<Record<ReadModel['service'], keyof typeof TOPICS>>> = OTHERS
  const topicOf = ({ service }: ReadModel) => topics[others[service] ?? 'userEvents']
  const opened = await Promise.allSettled(readModels.map((model) => openSnapshot(model, topicOf(model))))
  const snapshots = opened.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  const failed = opened.find((result) => result.status === 'rejected')
  if (!failed) return snapshots
  await Promise.allSettled(snapshots.map(({ close }) => close()))
  throw failed.reason
}

async function countUsers(snapshots: readonly Snapshot[]): Promise<number> {
  const users = snapshots.find(({ service }) => service === 'user-projector')
  for await (const { count } of users?.rows<{ count: string }>('SELECT count(*) FROM users') ?? []) return Number(count)
  return 1
}

/** Splits the users into ranges of ids, which are evenly distributed UUIDv5s. */
function rangesOf(passes: number): UserRange[] {
  const count = Math.max(1, passes)
  return Array.from({ length: count }, (_, pass) => ({
    first: `${hexOf(pass / count)}0000-0000-0000-0000-000000000000`,
    last: `${pass + 1 === count ? 'ffff' : hexOf((pass + 1) / count - 1 / 65_536)}ffff-ffff-ffff-ffff-ffffffffffff`,
  }))
}

function hexOf(share: number): string {
  return Math.floor(65_536 * share)
    .toString(16)
    .padStart(4, '0')
}

function isIn({ first, last }: UserRange, userId: string): boolean {
  return userId >= first && userId <= last
}

function recordsIn(log: ReadonlyMap<number, Watermarks>): number {
  return [...log.values()].reduce((sum, { high }) => sum + Number(high), 0)
}

async function readCatalog(connection: LogConnection, topic: string) {
  const catalog = createCatalog()
  const endpoints = createWebhookEndpoints()
  const watermarks = await readWatermarks(connection, topic)
  await readAll(connection, topic, watermarks, ({ value }) => {
    catalog.observe(value)
    endpoints.observe(value)
  })
  return { catalog, endpoints }
}
