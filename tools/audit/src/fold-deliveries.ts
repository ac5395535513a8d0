import type { FetchedRecord } from '@nextvisit/log'
import { createDeadLetterCheck } from './dead-letters.ts'
import { createDeliveriesModel } from './deliveries-model.ts'
import type { Fences } from './erasures.ts'
import { createErasuresModel } from './erasures-model.ts'
import type { DecidedFact, ProjectRef } from './facts.ts'
import { type CheckpointsOptions, compareCheckpoints, type Fold } from './fold.ts'
import { readFormFact, type Reading } from './read-fact.ts'
import { recordRefOf } from './snapshot.ts'
import type { WebhookEndpoint } from './webhook-endpoints.ts'

interface DeliveriesFoldOptions extends CheckpointsOptions {
  /** The fences of `form-events`. */
  readonly fences: Fences
  readonly findEndpoint: (project: ProjectRef, id: string) => WebhookEndpoint | undefined
  readonly nowMs: number
}

interface PassOfUsers {
  readonly isMine: (userId: string) => boolean
  readonly isFirstPass: boolean
}

/** Repetition of the webhook-dispatcher's fold of `form-events`. */
interface DeliveriesFold extends Omit<Fold, 'fold'> {
  readonly fold: (record: FetchedRecord, pass: PassOfUsers) => void
}

export async function createDeliveriesFold(options: DeliveriesFoldOptions): Promise<DeliveriesFold> {
  const { snapshot, fences, findings } = options
  const model = await createDeliveriesModel(options)
  const erasures = createErasuresModel(fences)
  const deadLetters = createDeadLetterCheck(snapshot, findings, fences.ofUserId)

  return {
    service: snapshot.service,
    lag: compareCheckpoints(options),
    fold: (record, { isMine, isFirstPass }) => {
      const { partition, offset, timestampMs } = record
      if (offset >= (snapshot.checkpoints.get(partition) ?? 0n)) return
      model.see(partition, timestampMs)
      const reading: Reading<DecidedFact> = readFormFact(record)
      if (isFirstPass) {
        deadLetters.see(record, reading)
        deadLetters.seeOpened(record, 'readable')
      }
      if (reading.outcome === 'unreadable' || !isMine(reading.fact.userId)) return
      const { fact } = reading
      model.fold({ fact, partition, offset, timestampMs }, snapshot.deadLetters.has(recordRefOf(record)))
    },
    compareUsers: (range) => model.compareUsers(range, findings),
    compareShared: async () => {
      deadLetters.end()
      await model.compareShared(findings)
      await erasures.compareShared?.(snapshot, findings)
    },
  }
}
