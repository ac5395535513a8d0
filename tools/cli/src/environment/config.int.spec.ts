import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type EnvironmentVariables, redisConfig } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withEnvironment } from '../../test/config.ts'
import { runNextvisit } from '../../test/run-nextvisit.ts'
import { notSet, readEnvironment, readSettings } from './config.ts'
import { consumerNamed, consumerUrl } from './consumer-database.ts'
import { addressesOf } from './database-addresses.ts'

const DEMO = path.resolve(import.meta.dirname, '../../../../infra/demo-workspace.yaml')

/** The connection file, as the local stack writes it. */
const stack = {
  pid: process.pid,
  kafkaBrokers: '127.0.0.1:1',
  databaseUrls: { metering: 'postgresql://nextvisit_metering:secret@127.0.0.1:2/nextvisit' },
  adminDatabaseUrl: 'postgresql://postgres:secret@127.0.0.1:2/nextvisit',
  redisUrl: 'redis://127.0.0.1:3',
  serviceUrls: { FORM_TRIGGER_EVALUATOR_URLS: 'http://127.0.0.1:4' },
  internalToken: 'the token of the local stack',
  secretKey: 'ab'.repeat(32),
  environment: { DEMO_ADMIN_KEY: 'the key of the demo' },
}

const another = {
  KAFKA_BROKERS: 'kafka.example:9092',
  DATABASE_URL: 'postgresql://postgres:other@db.example/nextvisit',
}

let data: string

beforeAll(async () => {
  data = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  await writeFile(path.join(data, 'connection.json'), JSON.stringify(stack))
})

afterAll(() => rm(data, { recursive: true }))

const environmentWith = (env: Readonly<Record<string, string>>): Promise<EnvironmentVariables> =>
  withEnvironment({ NEXTVISIT_DATA: data, ...env }, async () => readEnvironment())

describe('the environment of a command beside a local stack', () => {
  const ofConsumers = consumers.flatMap(({ databaseVariable, addressesVariable }) => [
    databaseVariable,
    addressesVariable,
  ])

  it.each(['KAFKA_BROKERS', 'DATABASE_URL', 'REDIS_URL', ...ofConsumers])(
    'takes nothing from the stack if %s names another system',
    async (name) => {
      const given = { NEXTVISIT_DATA: data, [name]: 'another' }
      expect(await environmentWith(given)).toEqual(given)
    },
  )

  it('uses the databases of the system that the environment names', async () => {
    const env = await environmentWith(another)
    const metering = consumerNamed('metering')
    expect(consumerUrl(env, metering)).toBe(another.DATABASE_URL)
    expect(addressesOf(metering, env).adminUrl).toBe(another.DATABASE_URL)
  })

  it.each([{}, { KAFKA_BROKERS: stack.kafkaBrokers, METERING_DATABASE_URL: stack.databaseUrls.metering }])(
    'takes from the stack all settings that %j lacks',
    async (given) => {
      expect(await environmentWith({ ...given, INTERNAL_TOKEN: 'given' })).toEqual({
        NEXTVISIT_DATA: data,
        KAFKA_BROKERS: stack.kafkaBrokers,
        DATABASE_URL: stack.adminDatabaseUrl,
        METERING_DATABASE_URL: stack.databaseUrls.metering,
        REDIS_URL: stack.redisUrl,
        FORM_TRIGGER_EVALUATOR_URLS: stack.serviceUrls.FORM_TRIGGER_EVALUATOR_URLS,
        INTERNAL_TOKEN: 'given',
        NEXTVISIT_SECRET_KEY: stack.secretKey,
        DEMO_ADMIN_KEY: 'the key of the demo',
      })
    },
  )

  it.each([
    [['topics', 'create'], 'DATABASE_URL'],
    [['audit'], 'DATABASE_URL'],
    [['migrate'], 'KAFKA_BROKERS'],
    [['dead-letters', 'list'], 'KAFKA_BROKERS'],
    [['dead-letters', 'list', '--service', 'metering'], 'KAFKA_BROKERS'],
    [['refusals', '--project', 'acme/shop'], 'KAFKA_BROKERS'],
    [['why', '--project', 'shop', '--user', 'ada'], 'KAFKA_BROKERS'],
    [['apply', DEMO], 'KAFKA_BROKERS'],
  ] as const)('%j reports that it ignores the stack, because %s is set', async (args, name) => {
    const { exitCode, stderr } = await runNextvisit(args, { NEXTVISIT_DATA: data, [name]: another[name] })
    expect(exitCode).not.toBe(0)
    expect(stderr).toContain(`Ignoring the local stack that runs here, because ${name} is set to another address.`)
  })

  it.each([
    [
      {},
      /no local stack runs here \(its data would be in .*\.nextvisit; if it was started with NEXTVISIT_DATA, set that/,
    ],
    [{ NEXTVISIT_DATA: '/nowhere' }, /no local stack runs here with NEXTVISIT_DATA=\/nowhere/],
  ])('names NEXTVISIT_DATA if there is no stack: %j', (env, message) => {
    expect(notSet('KAFKA_BROKERS', env)).toMatch(message)
  })

  it('names NEXTVISIT_DATA beside a missing setting, too', () => {
    expect(() => readSettings(redisConfig, { NEXTVISIT_DATA: '/nowhere' })).toThrow(
      /REDIS_URL[^]*NEXTVISIT_DATA=\/nowhere/,
    )
  })

  it('prints the settings of the stack, even if the environment names another system', async () => {
    const { exitCode, stdout } = await runNextvisit(['env'], { NEXTVISIT_DATA: data, ...another })
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringContaining(`export KAFKA_BROKERS='${stack.kafkaBrokers}'\n`),
    })
  })
})
