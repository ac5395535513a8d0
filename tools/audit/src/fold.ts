import type { FetchedRecord, Watermarks } from '@nextvisit/log'
import { createActivityModel } from './activity-model.ts'
import type { Catalog } from './catalog.ts'
import { createCountsForModel } from './counts-for-model.ts'
import { createDeadLetterCheck } from './dead-letters.ts'
import { createDuplicateCheck } from './duplicates.ts'
import { createErasuresModel } from './erasures-model.ts'
import { type Fence, type Fences, isFenced } from './erasures.ts'
import { type ClearFact, type UserRef, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import { createMeteringModel } from './metering-model.ts'
import type { FoldedFact, Model, UserRange } from './model.ts'
import type { QueueModel } from './queue-model.ts'
import type { EvaluationModel } from './evaluation-model.ts'
import type { Reading } from './read-fact.ts'
import { createRegistryModel } from './registry-model.ts'
import type { SegmentChangesModel } from './segment-changes.ts'
import { recordRefOf, type Snapshot } from './snapshot.ts'
import type { Opened } from './user-keys.ts'
import { createTraitsModel } from './traits-model.ts'
import { createUsersModel } from './users-model.ts'

export interface CheckpointsOptions {
  readonly snapshot: Snapshot
  /** Watermarks of the consumer's topic after the snapshot. */
  readonly log: ReadonlyMap<number, Watermarks>
  readonly isAtRest: boolean
  readonly findings: Findings
}

interface FoldOptions extends CheckpointsOptions {
  readonly catalog: Catalog
  readonly queue: QueueModel
  readonly evaluation: EvaluationModel
  readonly segmentChanges: SegmentChangesModel
  readonly fences: Fences
}

interface PassOfRecord {
  /** True if the record's user belongs to this pass. */
  readonly isMine: boolean
  readonly isFirstPass: boolean
  /** Opens the record's sealed members; undefined: it has nothing to fold. */
  readonly open: () => Opened | undefined
}

/** Repetition of a consumer's fold with exactly the records that its snapshot has folded. */
export interface Fold {
  readonly service: Snapshot['service']
  /** Number of records between its checkpoints and the log's end. */
  readonly lag: number
  /** Folds a record. */
  readonly fold: (record: FetchedRecord, reading: Reading<ClearFact>, pass: PassOfRecord) => void
  readonly compareUsers: (range: UserRange) => Promise<void>
  readonly compareShared: () => Promise<void>
}

/** Consumers of `user-events`. */
type UserConsumer = Exclude<Snapshot['service'], 'answer-collector' | 'webhook-dispatcher' | 'user-eraser'>

/** Creates the models of each consumer's tables that are folds of `user-events`. */
const MODELS: Readonly<Record<UserConsumer, (options: FoldOptions) => readonly Model[]>> = {
  'user-projector': ({ catalog, segmentChanges, isAtRest, findings }) => [
    createUsersModel(catalog, isAtRest),
    segmentChanges,
    createCountsForModel(catalog, findings),
    createTraitsModel(findings),
  ],
  metering: () => [createMeteringModel()],
  'trait-registry': () => [createRegistryModel()],
  'form-trigger-evaluator': ({ queue, evaluation }) => [createActivityModel(evaluation.judge), queue, evaluation],
}

/** Consumers that open sealed members, and discard the records before a fence. The others read clear members only. */
const OPENING: ReadonlySet<Snapshot['service']> = new Set(['user-projector', 'form-trigger-evaluator'])

export function createFold(options: FoldOptions): Fold {
  const { snapshot, fences, findings } = options
  const { service, checkpoints } = snapshot
  const models = [...MODELS[service as UserConsumer](options), createErasuresModel(fences)]
  const deadLetters = createDeadLetterCheck(snapshot, findings, fences.ofUserId)
  let isDuplicate = createDuplicateCheck()

  /** Returns whether the consumer has discarded the record, or what it folded of it, because of a fence that it has passed. */
  const isErased = (fact: ClearFact, offset: bigint): boolean => {
    if (!OPENING.has(service)) return false
    const fence = lastFence(fences, fact, checkpoints)
    return fence !== undefined && isFenced(fact, offset, fence)
  }

  const foldFact = (fact: ClearFact, opened: Opened | undefined, how: FoldedFact): void => {
    for (const model of models) {
      model.foldClear?.(fact)
      if (opened?.outcome === 'opened') model.foldUser?.(opened.fact, how)
      else if (opened) model.foldLost?.(fact, how)
    }
  }

  const fold: Fold['fold'] = (record, reading, pass) => {
    const { partition, offset } = record
    if (offset >= (checkpoints.get(partition) ?? 0n)) return
    if (pass.isFirstPass) deadLetters.see(record, reading)
    if (reading.outcome === 'unreadable') return
    const { fact } = reading
    const letter = snapshot.deadLetters.get(recordRefOf(record))
    const isFolded = !letter || letter.state === 'retried'
    let opened: Opened | undefined
    if (pass.isMine && !isErased(fact, offset)) {
      if (OPENING.has(service)) opened = pass.open()
      deadLetters.seeOpened(record, sealedState(fact, opened))
    }
    if (!isFolded || (opened?.outcome === 'damaged' && isAlwaysOpened(fact))) return
    // Duplicates of imported records may follow at any time, but concern the same user. Those of other passes are not kept.
    if (!pass.isMine && isImported(fact)) return
    if (isDuplicate(partition, fact) || !pass.isMine) return
    foldFact(fact, opened, { partition, offset, isLate: letter !== undefined })
  }

  return {
    service,
    lag: compareCheckpoints(options),
    fold,
    compareUsers: async (range) => {
      for (const model of models) await model.compareUsers?.(snapshot, range, findings)
      isDuplicate = createDuplicateCheck()
    },
    compareShared: async () => {
      deadLetters.end()
      for (const model of models) await model.compareShared?.(snapshot, findings)
    },
  }
}

/** Returns the last fence of the record's user that a consumer has passed. */
export function lastFence(fences: Fences, fact: UserRef, checkpoints: Snapshot['checkpoints']): Fence | undefined {
  return fences.ofUser(userKey(fact)).findLast(({ partition, offset }) => offset < (checkpoints.get(partition) ?? 0n))
}

/** Both consumers open identifies and answers. */
function isAlwaysOpened({ type }: ClearFact): boolean {
  return type === 'IdentifyRequested' || type === 'AnswerGiven'
}

/** The evaluator opens an event only if a trigger needs its properties, and the projector opens none. */
function sealedState(fact: ClearFact, opened: Opened | undefined): 'readable' | 'damaged' | 'unknown' {
  if (opened?.outcome !== 'damaged') return 'readable'
  return isAlwaysOpened(fact) ? 'damaged' : 'unknown'
}

function isImported(fact: ClearFact): boolean {
  return 'imported' in fact && fact.imported !== undefined
}

/** Compares checkpoints with the log. Returns the lag. */
export function compareCheckpoints({
  snapshot: { service, checkpoints },
  log,
  isAtRest,
  findings,
}: CheckpointsOptions): number {
  let lag = 0n
  for (const [partition, { high }] of log) {
    const next = checkpoints.get(partition) ?? 0n
    const about = `${service} ${partition}`
    if (next > high) findings.add('checkpoints: beyond the log', about, `at ${next}, but the log ends at ${high}`)
    if (next < high) lag += high - next
    if (isAtRest && next < high) findings.add('checkpoints: behind', about, `at ${next}, but the log ends at ${high}`)
  }
  for (const partition of checkpoints.keys()) {
    if (!log.has(partition)) findings.add('checkpoints: beyond the log', `${service} ${partition}`, 'no such partition')
  }
  return Number(lag)
}
