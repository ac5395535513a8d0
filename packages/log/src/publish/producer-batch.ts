import { NotAcknowledgedError, PartitionRefusedError } from '../errors.ts'
import { topicPartition } from '../topic-partition.ts'
import { NO_ERROR } from '../wire/error-codes.ts'
import type { PartitionToProduce, ProducedPartition } from '../wire/produce-message.ts'
import type { PublishOutcome, RecordToPublish } from './publish-outcome.ts'

/** The records of one request to the same partition, and what the leader has answered. */
export interface ProducerBatch extends PartitionToProduce {
  readonly records: RecordToPublish[]
  /** The place of each record in the request. */
  readonly places: number[]
  /** True if no further attempt is needed, or none can help. */
  isSettled: boolean
  /** True while an attempt is in flight, and after one that may have appended the records. */
  mayBeInLog: boolean
  /** Offset of the first record, once the leader has acknowledged the batch. */
  baseOffset?: bigint
  /** The latest refusal. */
  error?: PartitionRefusedError | NotAcknowledgedError
}

/** Groups the records of a request by partition. `nextSequences`: by the name of the partition, 0 if absent. */
export function batchByPartition(
  records: readonly RecordToPublish[],
  nextSequences: ReadonlyMap<string, number>,
): readonly ProducerBatch[] {
  const batches = new Map<string, ProducerBatch>()
  records.forEach((record, place) => {
    const { topic, partition } = record
    const name = topicPartition(topic, partition)
    let batch = batches.get(name)
    if (!batch) {
      const firstSequence = nextSequences.get(name) ?? 0
      batch = { topic, partition, firstSequence, records: [], places: [], isSettled: false, mayBeInLog: false }
      batches.set(name, batch)
    }
    batch.records.push(record)
    batch.places.push(place)
  })
  return [...batches.values()]
}

/** Notes the leader's answer to an attempt. `wasInLog`: `mayBeInLog` before the attempt. No answer: the response omits it. */
export function noteAnswer(batch: ProducerBatch, wasInLog: boolean, answer: ProducedPartition | undefined): void {
  const { topic, partition } = batch
  const { errorCode, baseOffset } = answer ?? { errorCode: NO_ERROR, baseOffset: -1n }
  if (errorCode !== NO_ERROR) {
    const refusal = new PartitionRefusedError(topic, partition, errorCode)
    batch.error = refusal
    batch.isSettled = !refusal.retryable
    if (refusal.isBeforeAppend) batch.mayBeInLog = wasInLog
    return
  }
  batch.isSettled = true
  if (baseOffset >= 0n) batch.baseOffset = baseOffset
  else batch.error = unanswered(batch)
}

/** Returns the outcome of each record, in the order of the request. `failure`: the error that ended the request early. */
export function outcomesOf(batches: readonly ProducerBatch[], failure: Error | undefined): readonly PublishOutcome[] {
  const outcomes: PublishOutcome[] = []
  for (const batch of batches) {
    batch.places.forEach((place, index) => (outcomes[place] = outcomeOf(batch, index, failure)))
  }
  return outcomes
}

/** The records of a batch get consecutive offsets. */
function outcomeOf(batch: ProducerBatch, index: number, failure: Error | undefined): PublishOutcome {
  const { baseOffset, error, isSettled, mayBeInLog } = batch
  if (baseOffset !== undefined) return { outcome: 'published', offset: baseOffset + BigInt(index) }
  if (error instanceof PartitionRefusedError && !mayBeInLog) {
    return { outcome: 'not-published', reason: 'refused', cause: error }
  }
  const cause = (isSettled ? error : failure) ?? error ?? unanswered(batch)
  return { outcome: 'unknown', cause }
}

function unanswered({ topic, partition }: ProducerBatch): NotAcknowledgedError {
  return new NotAcknowledgedError('PARTITION_UNANSWERED', topicPartition(topic, partition))
}
