import type { FetchedRecord, Watermarks } from '@nextvisit/log'
import { createActivityModel } from './activity-model.ts'
import type { Catalog } from './catalog.ts'
import { createCountsForModel } from './counts-for-model.ts'
import { createDeadLetterCheck } from './dead-letters.ts'
import { createDuplicateCheck } from './duplicates.ts'
import type { UserFact } from './facts.ts'
import type { Findings } from './findings.ts'
import { createMeteringModel } from './metering-model.ts'
import type { FoldedFact, Model, UserRange } from './model.ts'
import type { QueueModel } from './queue-model.ts'
import type { EvaluationModel } from './evaluation-model.ts'
import type { Reading } from './read-fact.ts'
import { createRegistryModel } from './registry-model.ts'
import { recordRefOf, type Snapshot } from './snapshot.ts'
import { createUsersModel } from './users-model.ts'

interface FoldOptions {
  readonly snapshot: Snapshot
  /** Watermarks of `user-events` after the snapshot. */
  readonly log: ReadonlyMap<number, Watermarks>
  readonly catalog: Catalog
  readonly queue: QueueModel
  readonly evaluation: EvaluationModel
  readonly isAtRest: boolean
  readonly findings: Findings
}

/** Repetition of a consumer's fold with exactly the records that its snapshot has folded. */
interface Fold {
  readonly service: Snapshot['service']
  /** Number of records between its checkpoints and the log's end. */
  readonly lag: number
  /** Folds a record. `isMine`: its user belongs to this pass. */
  readonly fold: (
    record: FetchedRecord,
    reading: Reading<UserFact>,
    pass: { readonly isMine: boolean; readonly isFirstPass: boolean },
  ) => void
  readonly compareUsers: (range: UserRange) => Promise<void>
  readonly compareShared: () => Promise<void>
}

/** Creates the models of each consumer's tables that are folds of `user-events`. */
const MODELS: Readonly<Record<Snapshot['service'], (options: FoldOptions) => readonly Model[]>> = {
  'user-projector': ({ catalog, isAtRest, findings }) => [
    createUsersModel(catalog, isAtRest),
    createCountsForModel(catalog, findings),
  ],
  metering: () => [createMeteringModel()],
  'trait-registry': () => [createRegistryModel()],
  'form-trigger-evaluator': ({ queue, evaluation }) => [createActivityModel(evaluation.judge), queue, evaluation],
}

export function createFold(options: FoldOptions): Fold {
  const { snapshot, findings } = options
  const { service, checkpoints } = snapshot
  const models = MODELS[service](options)
  const deadLetters = createDeadLetterCheck(snapshot, findings)
  let isDuplicate = createDuplicateCheck()

  const foldFact = (fact: UserFact, how: FoldedFact): void => {
    for (const model of models) {
      model.foldUser?.(fact, how)
      model.foldShared?.(fact)
    }
  }

  const fold: Fold['fold'] = (record, reading, pass) => {
    if (record.offset >= (checkpoints.get(record.partition) ?? 0n)) return
    const letter = snapshot.deadLetters.get(recordRefOf(record))
    if (pass.isFirstPass) deadLetters.see(record, reading)
    if (reading.outcome === 'unreadable' || (letter && letter.state !== 'retried')) return
    const { fact } = reading
    // Duplicates of imported records may follow at any time, but concern the same user. Those of other passes are not kept.
    if (!pass.isMine && isImported(fact)) return
    const { partition, offset } = record
    if (!isDuplicate(partition, fact) && pass.isMine)
      foldFact(fact, { partition, offset, isLate: letter !== undefined })
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

function isImported(fact: UserFact): boolean {
  return fact.type !== 'VisitAnswered' && fact.imported === true
}

/** Compares checkpoints with the log. Returns the lag. */
function compareCheckpoints({ snapshot: { service, checkpoints }, log, isAtRest, findings }: FoldOptions): number {
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
