import { createHash } from 'node:crypto'
import type { FetchedRecord, Watermarks } from '@nextvisit/log'
import { createActivityModel } from './activity-model.ts'
import type { Catalog } from './catalog.ts'
import { createCountsForModel } from './counts-for-model.ts'
import { createDuplicateCheck } from './duplicates.ts'
import type { UserFact } from './facts.ts'
import type { Findings } from './findings.ts'
import { createMeteringModel } from './metering-model.ts'
import type { FoldedFact, Model, UserRange } from './model.ts'
import type { QueueModel } from './queue-model.ts'
import type { QueueingModel } from './queueing-model.ts'
import type { Reading } from './read-fact.ts'
import { createRegistryModel } from './registry-model.ts'
import { type DeadLetter, recordRefOf, type Snapshot } from './snapshot.ts'
import { createUsersModel } from './users-model.ts'

export interface FoldOptions {
  readonly snapshot: Snapshot
  /** Watermarks of `user-events` after the snapshot. */
  readonly log: ReadonlyMap<number, Watermarks>
  readonly catalog: Catalog
  readonly queue: QueueModel
  readonly queueing: QueueingModel
  readonly isAtRest: boolean
  readonly findings: Findings
}

export interface Pass {
  /** Returns true if the record's user belongs to this pass. */
  readonly isMine: boolean
  readonly isFirstPass: boolean
}

/** Repetition of a consumer's fold with exactly the records that its snapshot has folded. */
export interface Fold {
  readonly service: string
  /** Number of records between its checkpoints and the log's end. */
  readonly lag: number
  readonly fold: (record: FetchedRecord, reading: Reading<UserFact>, pass: Pass) => void
  readonly compareUsers: (range: UserRange) => Promise<void>
  readonly compareShared: () => Promise<void>
}

/** Returns the models of a consumer's tables that are folds of `user-events`. */
function modelsOf(service: string, options: FoldOptions): readonly Model[] {
  const { queue, queueing, catalog, isAtRest, findings } = options
  switch (service) {
    case 'user-projector':
      return [createUsersModel(catalog, isAtRest), createCountsForModel(catalog, findings)]
    case 'metering':
      return [createMeteringModel()]
    case 'trait-registry':
      return [createRegistryModel()]
    case 'form-trigger-evaluator':
      return [createActivityModel(queueing.judge), queue, queueing]
    default:
      return []
  }
}

export function createFold(options: FoldOptions): Fold {
  const { snapshot, log, isAtRest, findings } = options
  const { service, checkpoints } = snapshot
  const models = modelsOf(service, options)
  const letters = new Map(snapshot.deadLetters)
  let isDuplicate = createDuplicateCheck()

  const foldFact = (fact: UserFact, how: FoldedFact): void => {
    for (const model of models) {
      model.foldUser?.(fact, how)
      model.foldShared?.(fact)
    }
  }

  const fold: Fold['fold'] = (record, reading, pass) => {
    if (record.offset >= (checkpoints.get(record.partition) ?? 0n)) return
    const ref = recordRefOf(record)
    const letter = snapshot.deadLetters.get(ref)
    if (pass.isFirstPass) {
      letters.delete(ref)
      checkLetter(service, { record, reading, letter }, findings)
    }
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
    lag: compareCheckpoints({ service, checkpoints, log, isAtRest }, findings),
    fold,
    compareUsers: async (range) => {
      for (const model of models) await model.compareUsers?.(snapshot, range, findings)
      isDuplicate = createDuplicateCheck()
    },
    compareShared: async () => {
      for (const ref of letters.keys()) {
        findings.add('dead letters: not in the log', `${service} ${ref}`, 'is a dead letter, but was never passed')
      }
      for (const model of models) await model.compareShared?.(snapshot, findings)
    },
  }
}

function isImported(fact: UserFact): boolean {
  return fact.type !== 'VisitAnswered' && fact.imported === true
}

interface Checkpoints {
  readonly service: string
  readonly checkpoints: ReadonlyMap<number, bigint>
  readonly log: ReadonlyMap<number, Watermarks>
  readonly isAtRest: boolean
}

/** Compares checkpoints with the log. Returns the lag. */
function compareCheckpoints({ service, checkpoints, log, isAtRest }: Checkpoints, findings: Findings): number {
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

interface Passed {
  readonly record: FetchedRecord
  readonly reading: Reading<UserFact>
  readonly letter: DeadLetter | undefined
}

/** Checks that exactly the unreadable records were stored, unchanged, as dead letters. */
function checkLetter(service: string, { record, reading, letter }: Passed, findings: Findings): void {
  const about = `${service} ${recordRefOf(record)}`
  if (!letter) {
    if (reading.outcome === 'unreadable') {
      findings.add('dead letters: missing', about, `is unreadable (${reading.because}), but not a dead letter`)
    }
    return
  }
  if (letter.valueSha256 !== (record.value && createHash('sha256').update(record.value).digest('hex'))) {
    findings.add('dead letters: other bytes', about, 'is a dead letter with other bytes than the log')
  }
  if (reading.outcome === 'read' && letter.state === 'dead') {
    findings.add('dead letters: readable', about, 'is a dead letter, but is readable')
  }
}
