import { execFile } from 'node:child_process'
import path from 'node:path'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { answerDeadLetters, coreMigrations, createPartitionFold, type Projection } from '@nextvisit/consumer'
import { givenProjectionRunner } from '@nextvisit/consumer/test/given-runner.ts'
import { CAUSE_OF_ERASED, deadLetterCalls, type DeadLetterGroup, encodeRecord } from '@nextvisit/contracts'
import { eventTracked, userIdFixture } from '@nextvisit/contracts/fixtures'
import { type CommitDb, prepareServiceSchema, rolePassword, sql } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { createPublisher, type LogConnection } from '@nextvisit/log'
import { createLocalClient, createLogger, createMetrics } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { createTestDatabase, createTestTopic, interceptCommits, PATIENT_REQUESTS } from '@nextvisit/testing'
import { Client } from 'pg'
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Ended, runNextvisit } from '../../test/run-nextvisit.ts'
import { readStatus } from '../status/read-status.ts'
import { answerOf } from './ask-dead-letters.ts'
import { discardDeadLetters, retryDeadLetters } from './retry-and-discard.ts'
import { listDeadLetters } from './show-dead-letters.ts'

const MAIN = path.resolve(import.meta.dirname, '../main.ts')
const ROLE = 'nextvisit_metering'

/** Schemas of the consumer before and after its fix, which accepts counts sent as text. */
const Strict = z.looseObject({ id: z.uuid(), type: z.literal('EventTracked'), slug: z.string(), count: z.number() })
const Mended = z.looseObject({
  id: z.uuid(),
  type: z.literal('EventTracked'),
  slug: z.string(),
  count: z.coerce.number(),
})
type Counted = z.infer<typeof Strict>

let roleUrl: string
let db: CommitDb
let topic: string
let connection: LogConnection

beforeEach(async () => {
  const database = await createTestDatabase(inject('databaseUrl'), { schema: 'metering' })
  const own = new URL(database.url)
  const password = rolePassword(decodeURIComponent(own.password), ROLE)
  const migrations = [{ directory: coreMigrations, table: '_core_migrations' }]
  await prepareServiceSchema({ adminUrl: own.href, schema: 'metering', role: ROLE, password, migrations })
  await asAdmin(own.href, 'CREATE TABLE metering.folded (id uuid PRIMARY KEY, times int NOT NULL)')
  roleUrl = Object.assign(new URL(own), { username: ROLE, password }).href
  db = openTestDb(roleUrl, 'metering')
  onTestFinished(async () => {
    await db.$disconnect()
    await database.drop()
  })
  ;({ topic, connection } = await createTestTopic(inject('kafkaBrokers')))
})

async function asAdmin(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(statement)
  await client.end()
}

const A_BUG = 13

/** Adds, so that a record folded twice shows. */
function countingProjection(schema: z.ZodType<Counted>): Projection<Counted, string[]> {
  return {
    name: 'metering',
    topic,
    schema,
    load: () => [],
    evolve: {
      EventTracked: (ids, { fact }) => {
        if (schema === Strict && fact.count === A_BUG) throw new TypeError('a bug')
        ids.push(fact.id)
      },
    },
    save: (ids) => ({
      statements: [
        sql`INSERT INTO folded AS known SELECT id, 1 FROM unnest(${ids}::uuid[]) AS given (id)
          ON CONFLICT (id) DO UPDATE SET times = known.times + 1`,
      ],
    }),
  }
}

/** The consumer at this version of its schema, until the test or the caller stops it. */
async function startConsumer(schema: z.ZodType<Counted>) {
  const metrics = createMetrics('metering')
  const logged: string[] = []
  const logger = { ...createLogger('spec', 'silent'), warn: (_: object, line: string) => void logged.push(line) }
  const { runner } = await givenProjectionRunner(countingProjection(schema), connection, db, {
    logger: logger as ReturnType<typeof createLogger>,
    metrics,
  })
  return { runner, metrics, logged }
}

/** Records of one user: sound, or spoilt by `spoil`. */
async function publish(values: readonly { value: string; headers: Readonly<Record<string, string>> }[]): Promise<void> {
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  const key = userIdFixture('ada')
  const deadlineAt = performance.now() + 10_000
  const outcomes = await Promise.all(
    values.map((value) => publisher.publish({ topic, partition: 0, key, ...value }, deadlineAt)),
  )
  await publisher.stop(1_000)
  expect(outcomes.every(({ outcome }) => outcome === 'published')).toBe(true)
}

function recordOf(special: Record<string, unknown> = {}) {
  const fact = { ...eventTracked(), count: 1, ...special }
  return encodeRecord(fact, { source: 'test', time: fact.received })
}

const poison = [
  { ...recordOf(), value: '{"broken' },
  { ...recordOf(), headers: {} },
  { ...recordOf(), headers: { ...recordOf().headers, 'schema-version': '99' } },
  recordOf({ type: 'Unheard' }),
  recordOf({ eventName: 'nul \u0000' }),
  recordOf({ count: '2' }),
  recordOf({ count: '3' }),
]

const commandEnv = () => ({
  NEXTVISIT_DATA: '/nowhere',
  KAFKA_BROKERS: inject('kafkaBrokers'),
  METERING_DATABASE_URL: roleUrl,
  NO_COLOR: '1',
})
const nextvisit = (...args: readonly string[]) => runNextvisit(['dead-letters', ...args], commandEnv())

/** In a process of its own, for operators who act at the same time. */
function nextvisitProcess(...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, 'dead-letters', ...args], { env: commandEnv() }, (error, stdout, stderr) =>
      resolve({ exitCode: Number(error?.code ?? 0), stdout, stderr }),
    )
  })
}

/** As `list --json` prints them, without a process for each look. */
async function groups(): Promise<readonly DeadLetterGroup[]> {
  const asks = createLocalClient(deadLetterCalls, answerDeadLetters('metering', db))
  return (await answerOf(asks.readCauses({}))).groups
}

const countFolded = async () =>
  (await db.$queryRaw<{ times: number }[]>(sql`SELECT times FROM folded`)).map((row) => row.times)

const readStates = async () =>
  (await db.$queryRaw<{ state: string }[]>(sql`SELECT state FROM dead_letters`)).map(({ state }) => state)

const COUNT_IS_TEXT = expect.stringContaining('count: Invalid input: expected number')

describe('nextvisit dead-letters', () => {
  it('lists every kind of unreadable record by cause, and a repaired consumer folds each exactly once', async () => {
    const old = await startConsumer(Strict)
    await publish([recordOf(), ...poison, recordOf()])
    await expect.poll(countFolded, { timeout: 20_000 }).toEqual([1, 1])
    expect(await groups()).toMatchObject([
      { cause: COUNT_IS_TEXT, dead: 2 },
      { cause: 'header schema-version is missing or not a number', dead: 1 },
      { cause: 'schema-version 99 is newer than this service knows (2)', dead: 1 },
      { cause: 'type is unknown', dead: 1 },
      { cause: 'value holds U+0000 or a lone surrogate', dead: 1 },
      { cause: 'value is not JSON', dead: 1 },
    ])
    const listed = await nextvisit('list', '--service', 'metering', '--json')
    expect(JSON.parse(listed.stdout)).toHaveLength(6)
    expect(await old.metrics.metrics()).toMatch(/projection_dead_letters\{state="dead".*\} 7/)
    await old.runner.stop()

    const { logged } = await startConsumer(Mended)
    await expect.poll(() => logged).toContainEqual(expect.stringContaining('nextvisit dead-letters list'))
    const cause = (await groups())[0]?.cause ?? ''
    const both = await Promise.all(
      [1, 2].map(() => nextvisitProcess('retry', '--service', 'metering', '--cause', cause)),
    )
    expect(both.map(({ exitCode }) => exitCode)).toEqual([0, 0])
    expect(both.map(({ stdout }) => stdout).toSorted()).toEqual([
      'None of the selected letters is dead, so there is nothing to retry.\n',
      'Retrying 2 dead letters.\n2 folded.\n',
    ])
    expect(await countFolded()).toEqual([1, 1, 1, 1])

    const others = await nextvisit('retry', '--service', 'metering', '--all')
    expect(others).toMatchObject({ exitCode: 1, stdout: 'Retrying 5 dead letters.\n0 folded.\n' })
    expect(others.stderr).toContain('5 dead again')
    expect(await countFolded()).toEqual([1, 1, 1, 1])
  })

  it('shows the position and the cause of a dead letter, and its value on request', async () => {
    const { runner } = await startConsumer(Strict)
    await publish([
      { ...recordOf({ traits: 'secret' }), headers: { 'schema-version': '2', ce_id: 'a\u001b[2J' } },
      poison[0] as (typeof poison)[0],
    ])
    await expect.poll(groups, { timeout: 20_000 }).toHaveLength(1)
    await runner.stop()
    const name = `metering/${(await groups())[0]?.example}`
    const plain = await nextvisit('show', name)
    expect(plain.stdout).toContain(`in the log`)
    expect(plain.stdout).toContain(`${topic}, partition 0, offset 1`)
    expect(plain.stdout).toContain('value is not JSON')
    expect(plain.stdout).toContain('--value shows them. They may hold personal data.')
    expect(plain.stdout).not.toContain('{"broken')
    expect((await nextvisit('show', name, '--value')).stdout).toContain('{"broken')
    expect(await nextvisit('show', 'metering/999')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('There is no dead letter metering/999'),
    })
  })

  it('shows that an erasure has deleted the bytes of a letter, which is not retried', async () => {
    const { runner } = await startConsumer(Strict)
    await publish(poison.slice(0, 1))
    await expect.poll(groups, { timeout: 20_000 }).toHaveLength(1)
    await runner.stop()
    const name = `metering/${(await groups())[0]?.example}`
    await db.$executeRaw(
      sql`UPDATE dead_letters SET value = NULL, headers = '{}', reason = ${CAUSE_OF_ERASED}, state = 'discarded'`,
    )
    const shown = await nextvisit('show', name, '--value')
    expect(shown.stdout).toMatch(/value +erased, like the headers/)
    expect((await nextvisit('retry', '--id', name)).stdout).toContain('None of the selected letters is dead')
  })

  it('never folds a discarded letter, and keeps the name of its operator', async () => {
    const old = await startConsumer(Strict)
    await publish(poison.slice(-2))
    await expect.poll(groups, { timeout: 20_000 }).toMatchObject([{ dead: 2 }])
    await old.runner.stop()
    const id = (await groups())[0]?.example ?? ''
    const asked = await nextvisit('discard', '--service', 'metering', '--id', id)
    expect(asked).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('1 would be discarded') })
    const done = await nextvisit('discard', '--service', 'metering', '--id', `metering/${id}`, '--yes')
    expect(done).toMatchObject({ exitCode: 0, stdout: '1 discarded.\n' })
    await startConsumer(Mended)
    expect((await nextvisit('retry', '--service', 'metering', '--all')).stdout).toBe(
      'Retrying 1 dead letter.\n1 folded.\n',
    )
    expect(await countFolded()).toEqual([1])
    expect((await nextvisit('show', `metering/${id}`)).stdout).toMatch(/state +discarded \(\S+, 2\d{3}-/)
    expect((await nextvisit('list', '--service', 'metering')).stdout).toBe('There are no dead letters.\n')
  })

  it.each(['before the commit', 'after the commit, before it knows'])(
    'folds a retry once when the owner crashes %s',
    async (when) => {
      const old = await startConsumer(Strict)
      await publish(poison.slice(-1))
      await expect.poll(groups, { timeout: 20_000 }).toMatchObject([{ dead: 1 }])
      await old.runner.stop()
      await nextvisit('retry', '--service', 'metering', '--all', '--no-wait')
      const openFold = async (own: CommitDb) => {
        const place = { topic, partition: 0, catalog: staticCatalog([]), serviceVersion: 'test' }
        const fold = createPartitionFold({ projection: countingProjection(Mended), db: own, ...place })
        await fold.open()
        return fold
      }
      const crashing = interceptCommits(db, async (commit) => {
        if (when.startsWith('after')) await commit()
        throw new Error('Connection terminated unexpectedly')
      })
      await expect((await openFold(crashing)).retry()).rejects.toThrow('Connection terminated')
      await startConsumer(Mended)
      await expect.poll(countFolded).toEqual([1])
      await expect.poll(readStates).toEqual(['retried'])
      expect(await countFolded()).toEqual([1])
    },
  )

  it('sets aside the record that halts a partition, at once and only there, and retries it as any other', async () => {
    const old = await startConsumer(Strict)
    await publish([recordOf(), recordOf({ count: A_BUG }), recordOf()])
    const env = { METERING_DATABASE_URL: roleUrl, KAFKA_BROKERS: inject('kafkaBrokers') }
    const statusOf = async () =>
      (await readStatus(env, new Date())).consumers.find(({ service }) => service === 'metering')
    const halt = { kind: 'halted', topic, partition: 0, offset: '1', code: 'FOLD_FAILED', message: 'TypeError: a bug' }
    await expect.poll(statusOf, { timeout: 20_000 }).toMatchObject({ alarms: [halt] })
    const place = ['metering', topic, '0']
    expect(await nextvisit('set-aside', ...place, '2')).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringContaining(`metering is halted on ${topic}/0 at offset 1, not at 2. Nothing was done.`),
    })
    expect(await nextvisit('set-aside', 'metering', topic, '1', '1')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('is not halted'),
    })
    expect(await nextvisit('set-aside', ...place, '1', '--no-wait')).toMatchObject({ exitCode: 0 })
    expect(await nextvisit('set-aside', ...place, '1')).toMatchObject({ exitCode: 0 })
    await expect.poll(countFolded).toEqual([1, 1])
    expect(await nextvisit('set-aside', ...place, '1')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('The record already is the dead letter metering/'),
    })
    expect(await statusOf()).toMatchObject({ alarms: [], deadLetters: 1 })
    await old.runner.stop()
    await startConsumer(Mended)
    expect((await nextvisit('retry', '--service', 'metering', '--all')).stdout).toContain('1 folded.')
    expect(await countFolded()).toEqual([1, 1, 1])
  })

  it.each([
    [['metering', 'user-events', 'x', '1'], 'x is not a partition number.'],
    [['metering', 'user-events', '1', '-1'], '-1 is not an offset.'],
    [['meter', 'user-events', '1', '1'], 'There is no consumer service meter'],
  ])('refuses to set aside %j', async (args, stderr) => {
    const refused = { exitCode: 2, stderr: expect.stringContaining(stderr) }
    expect(await nextvisit('set-aside', ...args)).toMatchObject(refused)
  })

  it('reports that there is nothing to discard, and names ids that do not exist', async () => {
    const nothing = { exitCode: 0, stdout: 'None of the selected letters is dead, so there is nothing to discard.\n' }
    expect(await nextvisit('discard', '--service', 'metering', '--all')).toMatchObject(nothing)
    const missing = { exitCode: 1, stdout: '', stderr: expect.stringContaining('metering/998, metering/999') }
    const mistyped = ['--service', 'metering', '--id', '999', '--id', '998']
    expect(await nextvisit('retry', ...mistyped)).toMatchObject(missing)
    expect(await nextvisit('discard', ...mistyped, '--yes')).toMatchObject(missing)
  })

  it.each([
    [retryDeadLetters, { service: 'metering' }, 'Specify exactly one of --record'],
    [retryDeadLetters, { service: 'metering', all: true, cause: 'x' }, 'Specify exactly one of --record'],
    [retryDeadLetters, { service: 'meter', all: true }, 'There is no consumer service meter. Known: user-projector'],
    [discardDeadLetters, { service: 'metering', id: ['forms/1'], yes: true }, 'is not a dead letter of metering'],
    [discardDeadLetters, { service: 'metering', id: ['one'], yes: true }, 'is not a dead letter of metering'],
  ] as const)('refuses %o %j and names the remedy', async (action, flags, message) => {
    const asked = action({ METERING_DATABASE_URL: roleUrl }, { wait: true, ...flags })
    await expect(asked).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining(message) })
  })

  it('names the remedy if a consumer does not answer', async () => {
    const own = { METERING_DATABASE_URL: Object.assign(new URL(roleUrl), { port: '1' }).href }
    await expect(listDeadLetters(own, { service: 'metering' })).rejects.toThrow('check that it runs')
    await expect(listDeadLetters({}, { service: 'metering' })).rejects.toThrow('METERING_DATABASE_URL is not set')
    await expect(listDeadLetters({}, {})).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('DATABASE_URL is not set and no local stack runs here'),
    })
    // Asks Postgres alone: without KAFKA_BROKERS, of each consumer that it knows.
    await expect(listDeadLetters(own, {})).rejects.toThrow(
      /^Some consumers did not answer\.[^]*metering: Postgres does not/,
    )
    const [other] = consumers
    const unprepared = { [other.databaseVariable]: roleUrl }
    await expect(listDeadLetters(unprepared, { service: other.name })).rejects.toThrow('run nextvisit migrate')
  })
})
