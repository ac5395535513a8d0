import { type LogConnection, readWatermarks, type Watermarks } from '@nextvisit/log'
import { createLedgerModel, type LedgerEntry } from './caller-ledger.ts'
import { type Catalog, type CompactedRevisions, createCatalog } from './catalog.ts'
import { AuditError } from './errors.ts'
import { createFindings, type FindingsOfKind } from './findings.ts'
import { createFold } from './fold.ts'
import { foldDecisions } from './fold-decisions.ts'
import type { UserRange } from './model.ts'
import { createQueueModel } from './queue-model.ts'
import { createQueueingModel, type QueueingCounts } from './queueing-model.ts'
import { readUserFact } from './read-fact.ts'
import { readAll } from './read-all.ts'
import { openSnapshot, type ReadModel, type Snapshot } from './snapshot.ts'

const TOPICS = { userEvents: 'user-events', formEvents: 'form-events', catalog: 'catalog' } as const
const EVALUATOR = 'form-trigger-evaluator'
/** How many users one pass over the log holds, with everything that is recorded about them. */
const USERS_A_PASS = 250_000

export interface AuditOptions {
  readonly connection: LogConnection
  readonly readModels: readonly ReadModel[]
  /** Every request of every caller, where the callers recorded them. */
  readonly ledger?: readonly LedgerEntry[]
  /** Nothing is being written: a checkpoint before the log's end is a difference, not only lag. */
  readonly isAtRest?: boolean
  /** Users held in memory at once. More of them need further passes over the log. */
  readonly usersAPass?: number
  readonly onProgress?: (progress: Progress) => void
}

export interface Progress {
  readonly records: number
  /** Of all passes. */
  readonly ofRecords: number
}

/** How far a consumer's rows are behind the log's end. The records there were not compared. */
export interface Lag {
  readonly service: string
  readonly records: number
}

export interface AuditReport {
  /** On `user-events`. */
  readonly records: number
  readonly passes: number
  readonly lag: readonly Lag[]
  readonly queueing: QueueingCounts
  /** Nothing that depends on these revisions was compared. */
  readonly compacted: readonly CompactedRevisions[]
  readonly findings: readonly FindingsOfKind[]
}

/**
 * Computes everything again, from the log alone, and reports where the read models, the evaluator's decisions and the
 * callers' ledger differ. It writes nothing and shares no code with the services. On a running system it compares each
 * schema as of one moment with the log up to that moment's checkpoints. Throws {@link AuditError} where it cannot compare,
 * and what Kafka and Postgres throw while they are unavailable.
 */
export async function audit(options: AuditOptions): Promise<AuditReport> {
  const { connection, readModels, ledger, isAtRest = false, usersAPass = USERS_A_PASS } = options
  // Decisions that are in the log now are in the queue's snapshot. Later ones may not be.
  const decidedBefore = await readWatermarks(connection, TOPICS.formEvents)
  const snapshots = await openSnapshots(readModels)
  try {
    const log = await readWatermarks(connection, TOPICS.userEvents)
    requireWhole(TOPICS.userEvents, log)
    requireWhole(TOPICS.formEvents, decidedBefore)
    const findings = createFindings()
    const catalog = await readCatalog(connection)
    const queuedBy = ledger && new Map<string, number>()
    const queueing = createQueueingModel(findings, catalog)
    const { mayBeOffered } = queueing
    const queue = createQueueModel({ findings, catalog, isAtRest, mayBeOffered, queuedBy })
    const folds = snapshots.map((snapshot) =>
      createFold({ snapshot, log, catalog, queue, queueing, isAtRest, findings }),
    )
    const ledgerModel = ledger && createLedgerModel(ledger)
    const evaluator = snapshots.find(({ service }) => service === EVALUATOR)
    const ranges = rangesOf(Math.ceil((await countUsers(snapshots)) / usersAPass))
    const ofRecords = recordsIn(log) * ranges.length
    let records = 0

    for (const [pass, range] of ranges.entries()) {
      if (evaluator)
        await foldDecisions({
          connection,
          topic: TOPICS.formEvents,
          decidedBefore,
          evaluator,
          foldForm: (fact, how) => {
            queue.foldForm(fact, how)
            queueing.foldForm(fact)
          },
          isMine: (userId) => isIn(range, userId),
        })
      await readAll(connection, TOPICS.userEvents, log, (record) => {
        records += 1
        if (records % 1_000 === 0) options.onProgress?.({ records, ofRecords })
        const reading = readUserFact(record)
        const isMine = reading.outcome === 'read' && isIn(range, reading.fact.userId)
        if (isMine) {
          ledgerModel?.see(reading.fact)
          queue.see(reading.fact)
        }
        for (const fold of folds) fold.fold(record, reading, { isMine, isFirstPass: pass === 0 })
      })
      for (const fold of folds) await fold.compareUsers(range)
    }
    for (const fold of folds) await fold.compareShared()
    ledgerModel?.compare(queuedBy ?? new Map(), findings)
    options.onProgress?.({ records: ofRecords, ofRecords })
    return {
      records: recordsIn(log),
      passes: ranges.length,
      lag: folds.map(({ service, lag }) => ({ service, records: lag })),
      queueing: queueing.counts(),
      compacted: catalog.compacted(),
      findings: findings.byKind(),
    }
  } finally {
    await Promise.allSettled(snapshots.map(({ close }) => close()))
  }
}

async function openSnapshots(readModels: readonly ReadModel[]): Promise<Snapshot[]> {
  const opened = await Promise.allSettled(readModels.map((model) => openSnapshot(model, TOPICS.userEvents)))
  const snapshots = opened.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  const failed = opened.find((result) => result.status === 'rejected')
  if (!failed) return snapshots
  await Promise.allSettled(snapshots.map(({ close }) => close()))
  throw failed.reason
}

/** What retention has deleted cannot be computed again. */
function requireWhole(topic: string, watermarks: ReadonlyMap<number, Watermarks>): void {
  for (const [partition, { low }] of watermarks) {
    if (low > 0n) {
      throw new AuditError(
        `${topic}/${partition} begins at ${low}: what was before cannot be counted again. The audit needs the whole log.`,
      )
    }
  }
}

async function countUsers(snapshots: readonly Snapshot[]): Promise<number> {
  const users = snapshots.find(({ service }) => service === 'user-projector')
  for await (const { count } of users?.rows<{ count: string }>('SELECT count(*) FROM users') ?? []) return Number(count)
  return 1
}

/** Users' ids are UUIDv5s, which spread evenly. */
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

async function readCatalog(connection: LogConnection): Promise<Catalog> {
  const catalog = createCatalog()
  const watermarks = await readWatermarks(connection, TOPICS.catalog)
  await readAll(connection, TOPICS.catalog, watermarks, ({ value }) => catalog.observe(value))
  return catalog
}
