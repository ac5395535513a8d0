import { createCluster, type LogCluster, NO_PARTITION } from '../connect/cluster.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import { isRetryable } from '../connect/kafkajs-errors.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { within } from '../connect/within.ts'
import { BrokerUnreachableError, NotAcknowledgedError } from '../errors.ts'
import { toError } from '../to-error.ts'
import { produceMessage } from '../wire/produce-message.ts'
import type { ProducerId } from '../wire/record-batch.ts'
import { topicPartition } from '../topic-partition.ts'
import { batchByPartition, noteAnswer, outcomesOf, type ProducerBatch } from './producer-batch.ts'
import type { PublishOutcome, RecordToPublish } from './publish-outcome.ts'
import { quietWhileLoading } from './quiet-while-loading.ts'

export interface IdempotentProducer {
  /**
   * Writes records with `acks=all`, in order within each partition, and returns the outcome of each. Each record is in the log
   * at most once: a retry omits acknowledged partitions and keeps the sequence, which a new leader knows, too. Never rejects.
   * Not to be called before it has resolved, nor after a record was not published: the next sequence is unknown then.
   */
  readonly send: (records: readonly RecordToPublish[]) => Promise<readonly PublishOutcome[]>
  /** Closes the connections. Requests in flight are not repeated. */
  readonly discard: (reason: Error) => void
}

interface IdempotentProducerOptions {
  readonly requestTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly logger: Logger
  /** Called for each of the producer's sockets that closes before `discard`. */
  readonly onSocketClosed: () => void
}

const RETRIES = 8
const LONGEST_BACK_OFF_MS = 250
/** After the last sequence comes 0. */
const SEQUENCES = 2 ** 31

/** Connects a new producer, with an id of its own. Rejects with BrokerUnreachableError. */
export async function connectProducer(
  connection: LogConnection,
  { requestTimeoutMs, connectTimeoutMs, logger, onSocketClosed }: IdempotentProducerOptions,
): Promise<IdempotentProducer> {
  const ended = new AbortController()
  const cluster = createCluster(connection, {
    connectTimeoutMs,
    // Half, so that a request whose response was lost is repeated once in time (the broker knows the sequence).
    requestTimeoutMs: Math.ceil(requestTimeoutMs / 2),
    retry: { retries: RETRIES, initialRetryTime: 50, maxRetryTime: LONGEST_BACK_OFF_MS },
    logger,
    onSocketClosed,
  })
  const nextSequences = new Map<string, number>()

  const discard = (reason: Error): void => {
    ended.abort(reason)
    cluster.close(reason)
  }

  const connect = async (): Promise<ProducerId> => {
    await cluster.connect([])
    const trying = {
      message: 'Cannot get a producer id; retrying',
      logger: quietWhileLoading(logger),
      signal: ended.signal,
    }
    return keepTrying(() => cluster.createProducerId(), { ...trying, giveUpAfterMs: connectTimeoutMs })
  }

  const id = await within(connectTimeoutMs, connect(), () => new BrokerUnreachableError(connectTimeoutMs)).catch(
    (cause: unknown) => {
      const unreachable = new BrokerUnreachableError(connectTimeoutMs, { cause })
      discard(unreachable)
      throw unreachable
    },
  )

  const produce = async (batches: readonly ProducerBatch[]): Promise<void> => {
    const request = { ...id, timestampMs: Date.now(), timeoutMs: requestTimeoutMs }
    let isRetry = false
    async function attempt(): Promise<void> {
      if (isRetry) await cluster.refreshMetadata()
      isRetry = true
      const unsettled = batches.filter(({ isSettled }) => !isSettled)
      await sendToLeaders(cluster, unsettled, request)
    }
    await keepTrying(attempt, {
      message: 'A request to the log failed; retrying',
      logger,
      signal: ended.signal,
      longestBackOffMs: LONGEST_BACK_OFF_MS,
      isFinal: (error) => !isRetryable(error),
    })
  }

  const send: IdempotentProducer['send'] = async (records) => {
    const batches = batchByPartition(records, nextSequences)
    const overdue = () => new NotAcknowledgedError('REQUEST_OVERDUE', `${requestTimeoutMs} ms`)
    const failure = await within(requestTimeoutMs, produce(batches), overdue).then(() => undefined, toError)
    for (const { topic, partition, firstSequence, records: sent } of batches)
      nextSequences.set(topicPartition(topic, partition), (firstSequence + sent.length) % SEQUENCES)
    return outcomesOf(batches, failure)
  }

  return { send, discard }
}

type RequestFields = ProducerId & { readonly timestampMs: number; readonly timeoutMs: number }

/**
 * Sends batches to their leaders. Settles once each leader has answered or failed, because a retry must not overtake the
 * request that it repeats. Rejects if a retry may settle more batches.
 */
async function sendToLeaders(
  cluster: LogCluster,
  batches: readonly ProducerBatch[],
  request: RequestFields,
): Promise<void> {
  const sendTo = async (leader: number, led: readonly ProducerBatch[]): Promise<void> => {
    const wereInLog = led.map(({ mayBeInLog }) => mayBeInLog)
    for (const batch of led) batch.mayBeInLog = true
    const message = produceMessage({ ...request, partitions: led })
    const answers = leader === NO_PARTITION ? [] : await cluster.send(leader, message)
    const byName = new Map(answers.map((answer) => [topicPartition(answer.topic, answer.partition), answer]))
    led.forEach((batch, index) =>
      noteAnswer(batch, wereInLog[index] ?? true, byName.get(topicPartition(batch.topic, batch.partition))),
    )
  }

  await cluster.connect([...new Set(batches.map(({ topic }) => topic))])
  await cluster.refreshMetadataIfOld()
  const sent = Array.from(cluster.byLeader(batches), ([leader, led]) => sendTo(leader, led))
  const failures = (await Promise.allSettled(sent)).flatMap((one) =>
    one.status === 'rejected' ? [one.reason as unknown] : [],
  )
  const refusals = batches.flatMap(({ isSettled, error }) => (isSettled ? [] : (error ?? [])))
  const errors = [...failures, ...refusals]
  // An error that another attempt cannot fix ends the request.
  if (errors.length > 0) throw errors.find((error) => !isRetryable(error)) ?? errors[0]
}
