import { globSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { createTopics } from '@nextvisit/cli/create-topics'
import { startKafka, startRedis } from '@nextvisit/local-stack'
import type { LogConnection } from '@nextvisit/log'
import { throwAwayFolder } from './throw-away-folder.ts'

export { freePort } from '@nextvisit/local-stack'
export { throwAwayFolder } from './throw-away-folder.ts'

/** A broker of one spec file, with the product's topics. */
export interface OwnKafka {
  readonly connection: LogConnection
  /** Returns the bytes of all segments of a topic, also of those that Kafka is about to delete. */
  readonly segmentsOf: (topic: string) => Buffer
  readonly stop: () => Promise<void>
}

/** Starts a broker for a spec that reads its files, or that needs the topics by their names. */
export async function startOwnKafka(partitions: number, keyRetentionMs: number): Promise<OwnKafka> {
  const folder = await throwAwayFolder()
  const dataDirectory = path.join(folder, 'kafka')
  const kafka = await startKafka({ dataDirectory, logFile: path.join(folder, 'kafka.log'), durable: false })
  const expected = { keyPartitions: partitions, inTopic: partitions }
  const connection = { brokers: [kafka.brokers], clientId: 'test', partitions: expected }
  await createTopics(connection, { partitions, keyRetentionMs })
  return {
    connection,
    segmentsOf: (topic) => {
      const files = globSync(path.join(dataDirectory, 'log', `${topic}-*`, '*.{log,deleted,cleaned}'))
      return Buffer.concat(files.map((file) => readFileSync(file)))
    },
    stop: async () => {
      await kafka.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Starts a Redis that a spec may stop. `port`: that of a Redis that was stopped. */
export async function startOwnRedis(
  port?: number,
): Promise<{ readonly url: string; readonly port: number; readonly stop: () => Promise<void> }> {
  const folder = await throwAwayFolder()
  const redis = await startRedis({
    dataDirectory: path.join(folder, 'redis'),
    logFile: path.join(folder, 'redis.log'),
    durable: false,
    ...(port !== undefined && { port }),
  })
  return {
    url: redis.url,
    port: redis.port,
    stop: async () => {
      await redis.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
