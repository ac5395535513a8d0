import { randomUUID } from 'node:crypto'
import { coreMigrations } from '@nextvisit/consumer'
import { prepareServiceSchema, rolePassword } from '@nextvisit/database'
import { consumers } from '@nextvisit/services'
import { createTestDatabase } from '@nextvisit/testing'
import { Client } from 'pg'
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { changesBy } from '../../test/changes-by.ts'
import { runNextvisit } from '../../test/run-nextvisit.ts'

const RECORD = 'user-events/3/1704'
const SILENT = 'postgres://nobody@127.0.0.1:1/none'
const [first, second, third, fourth] = consumers
let admin: Client
/** The address of each consumer's database, by variable. */
let addresses: Readonly<Record<string, string>>

beforeEach(async () => {
  const database = await createTestDatabase(inject('databaseUrl'), { schema: first.schema })
  const own = new URL(database.url)
  const prepared = consumers.map(async ({ schema, databaseVariable }) => {
    const role = `nextvisit_${schema}`
    const password = rolePassword(decodeURIComponent(own.password), role)
    const migrations = [{ directory: coreMigrations, table: '_core_migrations' }]
    await prepareServiceSchema({ adminUrl: own.href, schema, role, password, migrations })
    return [databaseVariable, Object.assign(new URL(own), { username: role, password }).href] as const
  })
  addresses = Object.fromEntries(await Promise.all(prepared))
  admin = new Client({ connectionString: own.href })
  await admin.connect()
  onTestFinished(async () => {
    await admin.end()
    await database.drop()
  })
})

/** Adds the dead letter of a record to consumers. */
async function addLetters(offset: number, to: readonly { readonly name: string; readonly schema: string }[]) {
  for (const { name, schema } of to)
    await admin.query(
      `INSERT INTO ${schema}.dead_letters
         (projection, topic, partition, "offset", headers, record_time, reason, service_version)
       VALUES ($1, 'user-events', 3, $2, '{}', now(), 'value is not JSON', 'test')`,
      [name, offset],
    )
}

async function readStates(): Promise<Readonly<Record<string, readonly string[]>>> {
  const all = consumers.map(async ({ name, schema }) => {
    const { rows } = await admin.query<{ state: string }>(`SELECT state FROM ${schema}.dead_letters ORDER BY "offset"`)
    return [name, rows.map(({ state }) => state)] as const
  })
  return Object.fromEntries(await Promise.all(all))
}

const nextvisit = (args: readonly string[], own: Readonly<Record<string, string>> = {}) =>
  runNextvisit(['dead-letters', ...args], {
    NEXTVISIT_DATA: '/nowhere',
    NO_COLOR: '1',
    KAFKA_BROKERS: inject('kafkaBrokers'),
    ...addresses,
    ...own,
  })

describe('one decision about a record', () => {
  it('is listed once, with its letter in each consumer', async () => {
    await addLetters(1704, [first, third])
    await addLetters(1705, [third])
    const { stdout, exitCode } = await nextvisit(['list', '--records', '--json'])
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject([
      { record: RECORD, letters: [{ letter: `${first.name}/1` }, { letter: `${third.name}/1` }] },
      { record: 'user-events/3/1705', letters: [{ letter: `${third.name}/2` }] },
    ])
    expect((await nextvisit(['list', '--records'])).stdout).toContain(`retry --record ${RECORD}`)
  })

  it('retries its letter in each consumer that has one, and no other letter', async () => {
    await addLetters(1704, [first, third])
    await addLetters(1705, [third, fourth])
    const retried = await nextvisit(['retry', '--record', RECORD, '--no-wait'])
    expect(retried).toMatchObject({ exitCode: 0, stdout: 'Retrying 2 dead letters.\n' })
    expect(await readStates()).toMatchObject({
      [first.name]: ['retry'],
      [second.name]: [],
      [third.name]: ['retry', 'dead'],
      [fourth.name]: ['dead'],
    })
    expect((await nextvisit(['retry', '--record', RECORD])).stdout).toBe(
      'None of the selected letters is dead, so there is nothing to retry.\n',
    )
  })

  it('is listed with its author, and is not made while it cannot be written to the log', async () => {
    await addLetters(1704, [first])
    const actor = `ada ${randomUUID()}`
    const decide = (own: Readonly<Record<string, string>>) =>
      nextvisit(['discard', '--record', RECORD, '--service', first.name, '--yes'], { NEXTVISIT_ACTOR: actor, ...own })
    const refused = await decide({ KAFKA_BROKERS: '127.0.0.1:1' })
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('nothing was done') })
    expect((await readStates())[first.name]).toEqual(['dead'])
    expect(await decide({})).toMatchObject({ exitCode: 0 })

    expect(await changesBy(actor)).toMatchObject([
      {
        kind: 'dead-letters.discard',
        outcome: 'made',
        target: first.name,
        actor: { kind: 'command', name: actor, isVerified: false },
        details: { letters: `of ${RECORD}`, count: 1 },
      },
    ])
    const env = { KAFKA_BROKERS: inject('kafkaBrokers'), NO_COLOR: '1' }
    const table = await runNextvisit(['changes', 'list', '--actor', actor], env)
    expect(table.stdout).toContain(`${actor} (claimed)`)
  })

  it('discards it in each, after it has shown the number of letters of each', async () => {
    await addLetters(1704, [first, third])
    const asked = await nextvisit(['discard', '--record', RECORD])
    expect(asked).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('2 would be discarded') })
    expect(asked.stdout).toMatch(new RegExp(`${first.name} +1\n[^]*${second.name} +0\n[^]*${third.name} +1\n`))
    const done = await nextvisit(['discard', '--record', RECORD, '--yes'])
    expect(done).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('2 discarded.') })
    expect(await readStates()).toMatchObject({ [first.name]: ['discarded'], [third.name]: ['discarded'] })
  })

  it('reports a consumer that does not answer, and may be repeated', async () => {
    await addLetters(1704, [first, second])
    const partly = await nextvisit(['discard', '--record', RECORD, '--yes'], { [second.databaseVariable]: SILENT })
    expect(partly).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('1 discarded.') })
    expect(partly.stderr).toMatch(new RegExp(`${second.name}: Postgres does not answer[^]*Run the command again`))
    expect(await readStates()).toMatchObject({ [first.name]: ['discarded'], [second.name]: ['dead'] })
    expect(await nextvisit(['discard', '--record', RECORD, '--yes'])).toMatchObject({ exitCode: 0 })
    expect(await readStates()).toMatchObject({ [first.name]: ['discarded'], [second.name]: ['discarded'] })
  })

  it('may also be about all letters of a cause, in each consumer', async () => {
    await addLetters(1704, [first, second])
    await addLetters(1705, [first])
    expect(await nextvisit(['discard', '--cause', 'value is not JSON', '--yes'])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('3 discarded.'),
    })
  })

  it('is refused if no consumer has a letter of the record', async () => {
    await addLetters(1704, [first])
    const missing = { exitCode: 1, stdout: '', stderr: expect.stringContaining('record user-events/3/9. Nothing was') }
    expect(await nextvisit(['retry', '--record', RECORD, '--record', 'user-events/3/9'])).toMatchObject(missing)
    expect(await readStates()).toMatchObject({ [first.name]: ['dead'] })
  })

  it.each(['1704', 'user-events/3', 'user-events/x/1', '/3/1'])('is refused for a record named %s', async (name) => {
    const refused = { exitCode: 2, stderr: expect.stringContaining('such as user-events/3/1704') }
    expect(await nextvisit(['retry', '--record', name])).toMatchObject(refused)
  })
})

describe('set-aside all', () => {
  it('sets the record aside in each consumer that it halts, and names the others only if there is none', async () => {
    const actor = `ada ${randomUUID()}`
    const setAside = (offset: string) =>
      nextvisit(['set-aside', 'all', 'user-events', '3', offset, '--no-wait'], { NEXTVISIT_ACTOR: actor })
    for (const { name, schema } of [first, second]) {
      await admin.query(
        `INSERT INTO ${schema}.checkpoints (projection, topic, partition, next_offset) VALUES ($1, 'user-events', 3, 1704)`,
        [name],
      )
      await admin.query(
        `INSERT INTO ${schema}.partition_alarms (projection, topic, partition, kind, "offset", record_id, code, message)
         VALUES ($1, 'user-events', 3, 'halted', 1704, 'none', 'FOLD_FAILED', 'a bug')`,
        [name],
      )
    }
    const asked = await setAside('1704')
    expect(asked).toMatchObject({ exitCode: 0, stderr: '' })
    expect(asked.stdout.trim().split('\n')).toEqual([
      `${first.name} will set aside the record at offset 1704 of user-events/3.`,
      `${second.name} will set aside the record at offset 1704 of user-events/3.`,
    ])
    await admin.query(
      `INSERT INTO ${third.schema}.checkpoints (projection, topic, partition, next_offset) VALUES ($1, 'user-events', 3, 1700)`,
      [third.name],
    )
    for (const checkpoint of [1700, 1704]) {
      await admin.query(`UPDATE ${third.schema}.checkpoints SET next_offset = $1`, [checkpoint])
      expect(await setAside('1704')).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining(`${third.name} has not passed offset 1704 of user-events/3 yet.`),
      })
    }
    const nowhere = await setAside('1705')
    expect(nowhere).toMatchObject({ exitCode: 1, stdout: '' })
    expect(nowhere.stderr).toContain(`${third.name} is not halted on user-events/3.`)
    const recorded = { kind: 'record.set-aside', details: { consumer: 'all' } }
    const made = { ...recorded, target: 'user-events/3/1704', outcome: 'made' }
    const refused = { ...recorded, target: 'user-events/3/1705', outcome: 'refused', reason: 'NOT_SET_ASIDE' }
    expect(await changesBy(actor)).toMatchObject([refused, made, made, made])
  })
})
