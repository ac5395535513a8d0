import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createTopics } from '@nextvisit/cli/create-topics'
import { DEFAULT_PARTITIONS, TOPICS, USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { type Client, prepareServiceSchema, rolePassword, withClient } from '@nextvisit/database'
import { type PartOptions, startKafka, startPostgres } from '@nextvisit/local-stack'
import { withLogAdmin } from '@nextvisit/log'
import { consumers } from '@nextvisit/services'
import { readMessages, withProducer } from '@nextvisit/testing/black-box'
import { throwAwayFolder } from '@nextvisit/testing/own-parts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const RELEASED = path.resolve(import.meta.dirname, '../released')
const LOGGED_TOPICS = [...Object.values(TOPICS), USER_KEYS_TOPIC]

/** Secret of the endpoint `crm` in released-workspace.yaml. It protects nothing else. */
export const HOOK_SECRET = `whsec_${Buffer.alloc(32, 'released').toString('base64')}`

/** Facts about the story that a released version recorded, so that a later version can be asked about them. */
export interface ReleasedStory {
  /** A user with these traits. */
  readonly known: {
    readonly userName: string
    readonly userId: string
    readonly traits: Readonly<Record<string, unknown>>
  }
  /** A user whose form waits for a visit. */
  readonly waiting: { readonly userName: string; readonly formId: string }
  /** Finished answers to this form in the results. */
  readonly answered: { readonly formId: string; readonly finished: number }
  readonly erasure: { readonly erasureId: string; readonly userName: string }
}

/** Names of the files of a released version. */
const FILES = {
  /** A line for each record of each topic, in order: topic, partition, time, key, value, headers. */
  log: 'log.ndjson',
  /** A line for each row: `<schema>.<table>`, a tab, the row as JSON, in which columns of the type json keep their bytes. */
  rows: 'rows.txt',
  /** SHA-256 of each migration that created the schemas, by its folder. */
  migrations: 'migrations.json',
  /** Secrets of the local stack, in its own format. They protect nothing else. */
  secrets: 'secrets.json',
  story: 'story.json',
} as const

/** Returns the versions whose data is kept, oldest first. */
export async function releasedVersions(): Promise<readonly string[]> {
  return (await readdir(RELEASED)).toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }))
}

/** Returns the SHA-256 of each migration of a released version, by its folder in the checkout. */
export async function releasedMigrations(version: string): Promise<Readonly<Record<string, string>>> {
  return JSON.parse(await read(version, 'migrations')) as Readonly<Record<string, string>>
}

export async function releasedStory(version: string): Promise<ReleasedStory> {
  return JSON.parse(await read(version, 'story')) as ReleasedStory
}

/** Returns the version of each checkpoint of a released version, by consumer, topic and partition. */
export async function releasedCheckpoints(version: string): Promise<ReadonlyMap<string, number>> {
  const lines = linesOf(await read(version, 'rows')).filter((line) => /^\w+\.checkpoints\t/.test(line))
  const rows = lines.map((line) => JSON.parse(line.slice(line.indexOf('\t'))) as Checkpoint)
  return new Map(rows.map((row) => [keyOf(row), row.version]))
}

/** Returns the version of each checkpoint in a database, likewise. */
export function readCheckpoints(url: string): Promise<ReadonlyMap<string, number>> {
  return withClient(url, async (client) => {
    const all = consumers.map(
      ({ schema }) => `SELECT projection, topic, partition, version::int FROM ${schema}.checkpoints`,
    )
    const { rows } = await client.query<Checkpoint>(all.join(' UNION ALL '))
    return new Map(rows.map((row) => [keyOf(row), row.version]))
  })
}

interface Checkpoint {
  readonly projection: string
  readonly topic: string
  readonly partition: number
  readonly version: number
}

function keyOf({ projection, topic, partition }: Checkpoint): string {
  return `${projection} ${topic}/${partition}`
}

/** Creates the folder of a local stack as the released version left it: its secrets, its log and its rows. */
export async function restoreRelease(version: string): Promise<string> {
  const folder = await throwAwayFolder()
  const optionsOf = (name: string): PartOptions => ({
    dataDirectory: path.join(folder, name),
    logFile: path.join(folder, 'logs', `${name}.log`),
  })
  const secrets = await read(version, 'secrets')
  await writeFile(path.join(folder, 'secrets.json'), secrets, { mode: 0o600 })
  const { databasePassword: password } = JSON.parse(secrets) as { readonly databasePassword: string }
  const [kafka, postgres] = await Promise.all([
    startKafka(optionsOf('kafka')),
    startPostgres({ ...optionsOf('postgres'), password }),
  ])
  try {
    const database = new URL(postgres.url)
    database.pathname = '/nextvisit'
    await Promise.all([
      publishLog(kafka.brokers.split(','), await read(version, 'log')),
      insertRows(database.href, password, version),
    ])
  } finally {
    await Promise.all([kafka.stop(), postgres.stop()])
  }
  return folder
}

/** Writes the log and the rows of a stack whose services have stopped as the data of a released version. */
export async function writeRelease(
  version: string,
  stack: { readonly brokers: readonly string[]; readonly adminDatabaseUrl: string; readonly dataDirectory: string },
  story: ReleasedStory,
): Promise<void> {
  const folder = path.join(RELEASED, version)
  await mkdir(folder, { recursive: true })
  // The data of a release never changes.
  const write = (file: keyof typeof FILES, text: string) =>
    writeFile(path.join(folder, FILES[file]), text, { flag: 'wx' })
  await write('log', await readLoggedLines(stack.brokers))
  const database = new URL(stack.adminDatabaseUrl)
  await withClient(database.href, async (client) => {
    await write('rows', await readRowLines(client))
    await write('migrations', json(await readAppliedMigrations(client)))
  })
  await write('secrets', await readFile(path.join(stack.dataDirectory, 'secrets.json'), 'utf8'))
  await write('story', json(story))
}

function read(version: string, file: keyof typeof FILES): Promise<string> {
  return readFile(path.join(RELEASED, version, FILES[file]), 'utf8')
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

type LoggedRecord = readonly [
  topic: string,
  partition: number,
  timestamp: string,
  key: string,
  value: string | null,
  headers: Readonly<Record<string, string>>,
]

async function readLoggedLines(brokers: readonly string[]): Promise<string> {
  const lines: string[] = []
  for (const topic of LOGGED_TOPICS) {
    const next = new Map<number, number>()
    for (const { partition, offset, timestamp, key, value, headers } of await readMessages(brokers, topic)) {
      // Checkpoints name offsets, and only a log without holes can be written again with the same ones.
      if (Number(offset) !== (next.get(partition) ?? 0))
        throw new Error(`${topic}/${partition} has a hole at ${offset}.`)
      next.set(partition, Number(offset) + 1)
      const texts = Object.entries(headers).map(([name, header]) => [name, String(header)])
      const line = [topic, partition, timestamp, String(key), value && String(value), Object.fromEntries(texts)]
      lines.push(JSON.stringify(line satisfies unknown[]))
    }
  }
  return `${lines.join('\n')}\n`
}

/**
 * Writes the log again, with the offsets and the times that its checkpoints name. The broker sets the times in `user-keys`, so its
 * records come before its settings.
 */
async function publishLog(brokers: readonly string[], text: string): Promise<void> {
  const connection = { brokers, clientId: 'released-data' }
  const byTopic = Map.groupBy(linesOf(text).map(parseRecord), ({ topic }) => topic)
  await withProducer({ brokers }, async (producer) => {
    const publish = (topics: readonly string[]) =>
      producer.sendBatch({ topicMessages: topics.map((topic) => ({ topic, messages: byTopic.get(topic) ?? [] })) })
    await withLogAdmin(connection, (admin) => admin.createTopic(USER_KEYS_TOPIC, { partitions: DEFAULT_PARTITIONS }))
    await publish([USER_KEYS_TOPIC])
    await createTopics(connection)
    await publish(Object.values(TOPICS))
  })
}

function parseRecord(line: string) {
  const [topic, partition, timestamp, key, value, headers] = JSON.parse(line) as LoggedRecord
  return { topic, partition, timestamp, key, value, headers }
}

interface Table {
  readonly schema: string
  readonly table: string
}

async function readRowLines(client: Client): Promise<string> {
  const lines: string[] = []
  for (const { schema, table } of await readTables(client)) {
    const name = `${schema}.${table}`
    const { rows } = await client.query<{ row: string }>(
      `SELECT row_to_json(t)::text AS row FROM ${name} AS t ORDER BY 1`,
    )
    lines.push(...rows.map(({ row }) => `${name}\t${row}`))
  }
  return `${lines.join('\n')}\n`
}

/** Returns the tables with rows of consumers, without those of applied migrations. */
async function readTables(client: Client): Promise<readonly Table[]> {
  const { rows } = await client.query<Table>(
    `SELECT schemaname AS schema, tablename AS table FROM pg_tables
     WHERE schemaname = ANY($1) AND tablename NOT LIKE '%\\_migrations' ORDER BY 1, 2`,
    [consumers.map(({ schema }) => schema)],
  )
  return rows
}

async function readAppliedMigrations(client: Client): Promise<Readonly<Record<string, string>>> {
  const checksums: Record<string, string> = {}
  for (const { schema, migrations } of consumers) {
    for (const { directory, table } of migrations) {
      const { rows } = await client.query<{ name: string; checksum: string }>(
        `SELECT migration_name AS name, checksum FROM ${schema}.${table} ORDER BY 1`,
      )
      for (const { name, checksum } of rows) {
        checksums[path.relative(ROOT, path.join(directory, name))] = checksum
      }
    }
  }
  return checksums
}

/** Creates the schemas by the migrations of the released version alone, and inserts its rows. */
async function insertRows(adminUrl: string, secret: string, version: string): Promise<void> {
  const released = Object.keys(await releasedMigrations(version))
  const copies = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-migrations-'))
  const copyOf = async (directory: string): Promise<string> => {
    const copy = await mkdtemp(path.join(copies, 'of-'))
    const own = released.filter((folder) => path.dirname(folder) === path.relative(ROOT, directory))
    await Promise.all(
      own.map((folder) => cp(path.join(ROOT, folder), path.join(copy, path.basename(folder)), { recursive: true })),
    )
    return copy
  }
  try {
    for (const { schema, role, migrations } of consumers) {
      const own = await Promise.all(
        migrations.map(async ({ directory, table }) => ({ directory: await copyOf(directory), table })),
      )
      await prepareServiceSchema({ adminUrl, schema, role, password: rolePassword(secret, role), migrations: own })
    }
    const byTable = Map.groupBy(linesOf(await read(version, 'rows')), (line) => line.slice(0, line.indexOf('\t')))
    await withClient(adminUrl, async (client) => {
      await client.query("SET session_replication_role = 'replica'")
      for (const [name, lines] of byTable) await insertTable(client, name, lines)
    })
  } finally {
    await rm(copies, { recursive: true })
  }
}

interface Column {
  readonly name: string
  readonly isIdentity: boolean
}

async function insertTable(client: Client, table: string, lines: readonly string[]): Promise<void> {
  const { rows: columns } = await client.query<Column>(
    `SELECT quote_ident(attname) AS name, attidentity <> '' AS "isIdentity" FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
    [table],
  )
  const names = columns.map(({ name }) => name).join(', ')
  const rows = lines.map((line) => line.slice(line.indexOf('\t') + 1))
  await client.query(
    `INSERT INTO ${table} (${names}) OVERRIDING SYSTEM VALUE
     SELECT ${names} FROM json_populate_recordset(NULL::${table}, $1::json)`,
    [`[${rows.join(',')}]`],
  )
  for (const { name } of columns.filter(({ isIdentity }) => isIdentity)) {
    await client.query(`SELECT setval(pg_get_serial_sequence($1, $2), (SELECT max(${name}) FROM ${table}))`, [
      table,
      name.replaceAll('"', ''),
    ])
  }
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '')
}
