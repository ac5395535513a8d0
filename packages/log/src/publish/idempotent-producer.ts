import { setTimeout as sleep } from 'node:timers/promises'

import { createCluster, NO_PARTITION } from '../connect/cluster.ts'
import { keepTrying } from '../connect/keep-trying.ts'
import { isRetryable } from '../connect/kafkajs-errors.ts'
import type { LogConnection, Logger } from '../connect/log-connection.ts'
import { within } from '../connect/within.ts'
import { BrokerUnreachableError, PartitionRefusedError, RequestOverdueError } from '../errors.ts'
import { NO_ERROR } from '../wire/error-codes.ts'
import { produceMessage } from '../wire/produce-message.ts'
import type { ProducerId } from '../wire/record-batch.ts'
import { topicPartition } from '../topic-partition.ts'
import type { RecordToPublish } from './publisher.ts'

export interface IdempotentProducer {
  /**
   * Writes the records with `acks=all`, in order within each partition, and returns the offset of each (undefined where
   * the broker gave none). Each record is in the log at most once: an attempt repeats only partitions that are not yet
   * acknowledged, with the same sequence, which a new leader also knows. Rejects if no answer came in time. Call it
   * neither before it has settled, nor after it has rejected: the next sequence is unknown then.
   */
  readonly send: (records: readonly RecordToPublish[]) => Promise<readonly (bigint | undefined)[]>
  /** Cuts the producer off: nothing that is still in flight is sent again. */
  readonly discard: (reason: Error) => void
}

interface IdempotentProducerOptions {
  readonly requestTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly logger: Logger
  /** Called for each of the producer's sockets that closes before `discard`. */
  readonly onSocketClosed: () => void
}

/** The records of one request that go to the same partition. */
interface Part {
  readonly topic: string
  readonly partition: number
  readonly firstSequence: number
  readonly records: RecordToPublish[]
  /** Of each record its place in the request. */
  readonly places: number[]
  /** Of the broker that has acknowledged it; without an offset where the broker named none. */
  answer?: { readonly baseOffset?: bigint }
}

const RETRIES = 8
const FIRST_BACK_OFF_MS = 50
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
    // Half, so that a request whose answer was lost is repeated once in time (the broker knows the sequence).
    requestTimeoutMs: Math.ceil(requestTimeoutMs / 2),
    retry: { retries: RETRIES, initialRetryTime: FIRST_BACK_OFF_MS, maxRetryTime: LONGEST_BACK_OFF_MS },
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
    const trying = { message: 'Cannot get a producer id; trying again', logger, signal: ended.signal }
    return keepTrying(() => cluster.createProducerId(), { ...trying, giveUpAfterMs: connectTimeoutMs })
  }

  const id = await within(connectTimeoutMs, connect(), () => new BrokerUnreachableError(connectTimeoutMs)).catch(
    (cause: unknown) => {
      const unreachable = new BrokerUnreachableError(connectTimeoutMs, { cause })
      discard(unreachable)
      throw unreachable
    },
  )

  const partsOf = (records: readonly RecordToPublish[]): readonly Part[] => {
    const parts = new Map<string, Part>()
    records.forEach((record, place) => {
      const { topic, partition } = record
      const name = topicPartition(topic, partition)
      const part = parts.get(name) ?? {
        topic,
        partition,
        firstSequence: nextSequences.get(name) ?? 0,
        records: [],
        places: [],
      }
      part.records.push(record)
      part.places.push(place)
      parts.set(name, part)
    })
    return [...parts.values()]
  }

  /** Asks a leader for its parts. Rejects if it refused any of them. */
  const ask = async (leader: number, parts: readonly Part[], timestampMs: number): Promise<void> => {
    if (leader === NO_PARTITION) {
      for (const part of parts) part.answer = {}
      return
    }
    const request = { ...id, partitions: parts, timestampMs, timeoutMs: requestTimeoutMs }
    const produced = await cluster.send(leader, produceMessage(request))
    const answers = new Map(produced.map((answer) => [topicPartition(answer.topic, answer.partition), answer]))
    const refused: Error[] = []
    for (const part of parts) {
      const { errorCode = NO_ERROR, baseOffset = -1n } = answers.get(topicPartition(part.topic, part.partition)) ?? {}
      if (errorCode !== NO_ERROR) refused.push(new PartitionRefusedError(part.topic, part.partition, errorCode))
      else part.answer = baseOffset < 0n ? {} : { baseOffset }
    }
    throwWorstOf(refused)
  }

  /** Settles once each leader has: a repetition must not overtake the request that it repeats. */
  const attempt = async (parts: readonly Part[], timestampMs: number): Promise<void> => {
    await cluster.connect([...new Set(parts.map(({ topic }) => topic))])
    await cluster.refreshMetadataIfOld()
    const asked = Array.from(cluster.byLeader(parts), ([leader, led]) => ask(leader, led, timestampMs))
    const settled = await Promise.allSettled(asked)
    throwWorstOf(settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : [])))
  }

  const write = async (parts: readonly Part[]): Promise<void> => {
    const timestampMs = Date.now()
    for (let retry = 0; ; retry += 1) {
      try {
        if (retry > 0) await cluster.refreshMetadata()
        return await attempt(
          parts.filter(({ answer }) => !answer),
          timestampMs,
        )
      } catch (error) {
        if (retry === RETRIES || ended.signal.aborted || !isRetryable(error)) throw error
        logger.warn({ err: error }, 'A request to the log failed; trying again')
        await sleep(Math.min(FIRST_BACK_OFF_MS * 2 ** retry, LONGEST_BACK_OFF_MS) * (0.8 + 0.4 * Math.random()))
        ended.signal.throwIfAborted()
      }
    }
  }

  const send: IdempotentProducer['send'] = async (records) => {
    const parts = partsOf(records)
    await within(requestTimeoutMs, write(parts), () => new RequestOverdueError(requestTimeoutMs))
    const offsets = records.map((): bigint | undefined => undefined)
    for (const { topic, partition, firstSequence, places, answer } of parts) {
      nextSequences.set(topicPartition(topic, partition), (firstSequence + places.length) % SEQUENCES)
      // The records of a part get consecutive offsets.
      let offset = answer?.baseOffset
      for (const place of places) {
        offsets[place] = offset
        if (offset !== undefined) offset += 1n
      }
    }
    return offsets
  }

  return { send, discard }
}

/** Throws an error that another attempt cannot fix, if there is one; otherwise the first. */
function throwWorstOf(errors: readonly unknown[]): void {
  if (errors.length > 0) throw errors.find((error) => !isRetryable(error)) ?? errors[0]
}
