import type { FetchedRecord } from '@nextvisit/log'
import { createCollectorModel } from './collector-model.ts'
import { createDeadLetterCheck } from './dead-letters.ts'
import { createErasuresModel } from './erasures-model.ts'
import { type DecidedFact, isSegmentFact } from './facts.ts'
import { compareCheckpoints, type CheckpointsOptions, type Fold } from './fold.ts'
import type { Fences } from './erasures.ts'
import { readFormFact, type Reading } from './read-fact.ts'
import { recordRefOf } from './snapshot.ts'
import type { OpenedAnswers, UserKeys } from './user-keys.ts'

interface CollectedOptions extends CheckpointsOptions {
  /** The fences of `form-events`. */
  readonly fences: Fences
}

interface PassOfUsers {
  readonly isMine: (userId: string) => boolean
  readonly isFirstPass: boolean
  readonly keys: Pick<UserKeys, 'openAnswers'>
}

/** Repetition of the answer-collector's fold of `form-events`. */
interface CollectedFold extends Omit<Fold, 'fold'> {
  readonly fold: (record: FetchedRecord, pass: PassOfUsers) => void
}

/** An erasure keeps the counts of its user, so records before it are folded: an answer whose key is destroyed by its clear members. */
export function createCollectedFold(options: CollectedOptions): CollectedFold {
  const { snapshot, fences, findings } = options
  const model = createCollectorModel()
  const erasures = createErasuresModel(fences)
  const deadLetters = createDeadLetterCheck(snapshot, findings, fences.ofUserId)

  return {
    service: snapshot.service,
    lag: compareCheckpoints(options),
    fold: (record, { isMine, isFirstPass, keys }) => {
      const { partition, offset } = record
      if (offset >= (snapshot.checkpoints.get(partition) ?? 0n)) return
      const reading: Reading<DecidedFact> = readFormFact(record)
      if (isFirstPass) deadLetters.see(record, reading)
      if (reading.outcome === 'unreadable' || !isMine(reading.fact.userId)) return
      const { fact } = reading
      const opened = openedOf(fact, keys)
      const isDamaged = opened?.outcome === 'damaged'
      deadLetters.seeOpened(record, isDamaged ? 'damaged' : 'readable')
      const letter = snapshot.deadLetters.get(recordRefOf(record))
      if (isDamaged || (letter && letter.state !== 'retried')) return
      if (isSegmentFact(fact)) return
      const given = opened?.outcome === 'opened' ? opened.answers : undefined
      model.fold(fact, { partition, isLate: letter !== undefined, given })
    },
    compareUsers: (range) => model.compareUsers(snapshot, range, findings),
    compareShared: async () => {
      deadLetters.end()
      await model.compareShared(snapshot, findings)
      await erasures.compareShared?.(snapshot, findings)
    },
  }
}

/** The collector opens no other answers than recorded ones. */
function openedOf(fact: DecidedFact, keys: Pick<UserKeys, 'openAnswers'>): OpenedAnswers | undefined {
  return fact.type === 'FormAnswered' && fact.outcome === 'recorded' ? keys.openAnswers(fact) : undefined
}
