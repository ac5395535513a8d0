import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import type { ThrowAwayStack } from '@nextvisit/testing/black-box'

/** A place that may hold personal data, with its content as text. */
interface Place {
  readonly name: string
  readonly text: string
}

/** Returns the names of the places whose text has the word, in clear or as the hex of `bytea`. */
export function placesWith(word: string, places: readonly Place[]): readonly string[] {
  const forms = [word, Buffer.from(word).toString('hex')]
  return places.filter(({ text }) => forms.some((form) => text.includes(form))).map(({ name }) => name)
}

/** Reads all rows of all tables of all schemas, and the statistics about their columns. */
export async function readTables({ adminDatabaseUrl }: Pick<ThrowAwayStack, 'adminDatabaseUrl'>): Promise<Place[]> {
  const client = new Client({ connectionString: adminDatabaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string }>(`
      SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`)
    const places: Place[] = []
    for (const { name } of [...rows, { name: 'pg_catalog.pg_stats' }]) {
      const { rows: content } = await client.query<{ text: string }>(`SELECT given::text AS text FROM ${name} given`)
      places.push({ name, text: content.map(({ text }) => text).join('\n') })
    }
    return places
  } finally {
    await client.end()
  }
}

/** Has Postgres collect statistics of all tables, as autovacuum does sooner or later. */
export async function analyze({ adminDatabaseUrl }: Pick<ThrowAwayStack, 'adminDatabaseUrl'>): Promise<void> {
  const client = new Client({ connectionString: adminDatabaseUrl })
  await client.connect()
  await client.query('ANALYZE')
  await client.end()
}

/** Reads all keys and values of Redis. */
export async function readRedis({ redisUrl }: Pick<ThrowAwayStack, 'redisUrl'>): Promise<Place[]> {
  const redis = new Redis(redisUrl)
  try {
    const places: Place[] = []
    for (const key of await redis.keys('*')) {
      const type = await redis.type(key)
      const value =
        type === 'list'
          ? await redis.lrange(key, 0, -1)
          : type === 'hash'
            ? await redis.hgetall(key)
            : await redis.get(key)
      places.push({ name: key, text: JSON.stringify([key, value]) })
    }
    return [...places, { name: 'SLOWLOG', text: JSON.stringify(await redis.slowlog('GET', 1_000)) }]
  } finally {
    redis.disconnect()
  }
}

/** Reads the logs of all processes, of Kafka, Postgres and Redis, too. */
export function readLogs(stack: Pick<ThrowAwayStack, 'dataDirectory'>): Promise<Place[]> {
  return readFiles(stack, 'logs/*')
}

/** Reads the bytes of the segment files of a topic, if Kafka's data is in the folder of the stack. */
export function readSegments(stack: Pick<ThrowAwayStack, 'dataDirectory'>, topic: string): Promise<Place[]> {
  return readFiles(stack, `**/${topic}-[0-9]*/*.log`)
}

async function readFiles({ dataDirectory }: Pick<ThrowAwayStack, 'dataDirectory'>, pattern: string): Promise<Place[]> {
  const places: Place[] = []
  for await (const file of glob(pattern, { cwd: dataDirectory }))
    places.push({ name: file, text: await readFile(path.join(dataDirectory, file), 'latin1').catch(() => '') })
  return places
}
