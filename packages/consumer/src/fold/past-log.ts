import { createOnDemandReader, type FetchedBatch, type LogAdmin, type LogConnection, type Logger } from '@nextvisit/log'
import { LogUnavailableError } from '../core/errors.ts'

/** Reads a topic beside its fold. */
export interface PastLog {
  /** Fetches once from an offset on. Rejects with LogUnavailableError. */
  readonly read: (partition: number, from: bigint) => Promise<readonly FetchedBatch[]>
  /** Returns the offset of the first record not older than an instant, the log's end if there is none. Rejects with LogUnavailableError. */
  readonly offsetAt: (partition: number, instantMs: number) => Promise<bigint>
  readonly stop: () => void
}

interface PastLogOptions {
  readonly connection: LogConnection
  readonly topic: string
  readonly logAdmin: Pick<LogAdmin, 'offsetsAt'>
  readonly logger?: Logger
}

const MAX_BATCH_RECORDS = 1_000

/** Creates a reader for all partitions of a process. It connects at its first read. */
export function createPastLog({ connection, topic, logAdmin, logger }: PastLogOptions): PastLog {
  const options = { maxBatchRecords: MAX_BATCH_RECORDS, withStandIns: true }
  const reader = createOnDemandReader(connection, topic, logger ? { ...options, logger } : options)
  let last: Promise<unknown> = Promise.resolve()

  /** The reader has one caller at a time, and partitions tick at the same time. */
  function inTurn<T>(read: () => Promise<T>): Promise<T> {
    const own = last.then(read)
    last = own.catch(() => {})
    return own
  }

  return {
    read: (partition, from) => orUnavailable(inTurn(() => reader.read(new Map([[partition, from]])))),
    offsetAt: async (partition, instantMs) => {
      const offset = (await orUnavailable(logAdmin.offsetsAt(topic, instantMs))).get(partition)
      if (offset === undefined) throw new LogUnavailableError({ cause: new Error(`${topic} has no ${partition}`) })
      return offset
    },
    stop: reader.stop,
  }
}

async function orUnavailable<T>(read: Promise<T>): Promise<T> {
  try {
    return await read
  } catch (cause) {
    throw new LogUnavailableError({ cause })
  }
}
