import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConfigError } from './errors.ts'
import {
  addressesConfig,
  databaseConfig,
  type EnvironmentVariables,
  internalServerConfig,
  kafkaConfig,
  keyRetentionConfig,
  keyRingConfig,
  logConfig,
  modeConfig,
  readConfig,
  redisConfig,
} from './read-config.ts'

const schema = kafkaConfig
  .and(redisConfig)
  .and(databaseConfig('METERING_DATABASE_URL'))
  .and(internalServerConfig)
  .and(logConfig)
  .and(addressesConfig('metering'))
const good = {
  KAFKA_BROKERS: 'one:9092, two:9093',
  REDIS_URL: 'redis://127.0.0.1:6379',
  DATABASE_URL: 'postgresql://all:pw@127.0.0.1/all',
  INTERNAL_PORT: '7103',
  INTERNAL_TOKEN: 'a token of some length',
  METERING_URLS: 'http://127.0.0.1:7103,http://127.0.0.1:7113',
}

function faultsOf(env: EnvironmentVariables): string {
  try {
    readConfig(schema, env)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
  }
  return 'no ConfigError was thrown'
}

describe('readConfig', () => {
  it.each([
    ['48', { keyPartitions: 48, inTopic: 48 }],
    ['12/24', { keyPartitions: 12, inTopic: 24 }],
  ])('accepts KAFKA_PARTITIONS=%s', (KAFKA_PARTITIONS, partitions) => {
    expect(readConfig(schema, { ...good, KAFKA_PARTITIONS }).kafka).toMatchObject({ partitions })
  })

  it.each(['0', '24/12', '-1', 'x', '12/'])('refuses KAFKA_PARTITIONS=%s', (KAFKA_PARTITIONS) => {
    expect(() => readConfig(schema, { ...good, KAFKA_PARTITIONS })).toThrow('must be how many partitions')
  })

  it('reads the joined parts of a configuration', () => {
    expect(readConfig(schema, { ...good, UNRELATED: 'x' })).toMatchObject({
      kafka: { brokers: ['one:9092', 'two:9093'], tls: false, partitions: { keyPartitions: 12, inTopic: 12 } },
      redisUrl: 'redis://127.0.0.1:6379',
      databaseUrl: 'postgresql://all:pw@127.0.0.1/all',
      internalServer: { host: '127.0.0.1', port: 7103, token: 'a token of some length' },
      logLevel: 'info',
      services: { metering: { entries: ['http://127.0.0.1:7103', 'http://127.0.0.1:7113'] } },
    })
  })

  it("prefers a service's own database variable", () => {
    const own = 'postgresql://own:pw@127.0.0.1/own'
    expect(readConfig(schema, { ...good, METERING_DATABASE_URL: own })).toMatchObject({ databaseUrl: own })
  })

  it('reads the SASL credentials for Kafka', () => {
    const sasl = { KAFKA_TLS: 'true', KAFKA_SASL_MECHANISM: 'scram-sha-512', KAFKA_SASL_USERNAME: 'u' }
    expect(readConfig(schema, { ...good, ...sasl, KAFKA_SASL_PASSWORD: 'p' })).toMatchObject({
      kafka: { tls: true, sasl: { mechanism: 'scram-sha-512', username: 'u', password: 'p' } },
    })
    expect(faultsOf({ ...good, ...sasl })).toContain('KAFKA_SASL_PASSWORD is not set: is needed')
  })

  it('treats an empty variable as absent', () => {
    expect(readConfig(schema, { ...good, LOG_LEVEL: '', METERING_DATABASE_URL: '' })).toMatchObject({
      logLevel: 'info',
    })
    expect(faultsOf({ ...good, REDIS_URL: '' })).toContain('REDIS_URL is not set')
  })

  it('lists every fault at once, with the expected form', () => {
    expect(faultsOf({ INTERNAL_PORT: '70000', LOG_LEVEL: 'loud' }).split('\n')).toEqual([
      'The environment needs a change.',
      '  KAFKA_BROKERS is not set: must be host:port; several separated by commas',
      '  REDIS_URL is not set: must be an address like redis://host:6379',
      '  METERING_DATABASE_URL is not set: must be an address like postgresql://role:password@host:5432/database; DATABASE_URL will do',
      '  INTERNAL_PORT is wrong: must be a port from 0 to 65535',
      '  INTERNAL_TOKEN is not set: must be a secret of 16 characters or more; during a rotation up to 3, separated by commas',
      '  LOG_LEVEL is wrong: must be debug, info, warn, error or silent',
      '  METERING_URLS is not set: must be an address like http://host:port, or dns+http://name:port for every address of a name; several separated by commas',
    ])
  })

  it.each(Object.keys(good))('refuses an invalid %s and does not repeat its value', (name) => {
    const message = faultsOf({ ...good, [name]: 'N0nsense' })
    expect(message).toContain(`${name} is wrong`)
    expect(message).not.toContain('N0nsense')
  })
})

describe('production mode', () => {
  const withMode = logConfig.and(modeConfig)
  const read = (env: EnvironmentVariables) => readConfig(withMode, env).mode

  it('is off by default', () => {
    expect(read({ INTERNAL_TOKEN: 'only-for-this-machine' })).toBe('local')
  })

  it('refuses a published secret and names its variable', () => {
    const env = { NEXTVISIT_MODE: 'production', INTERNAL_TOKEN: 'only-for-this-machine' }
    expect(() => read(env)).toThrow('INTERNAL_TOKEN is wrong: holds a published secret')
    expect(read({ ...env, INTERNAL_TOKEN: 'chosen for this spec' })).toBe('production')
  })

  it.each([
    'INTERNAL_TOKEN',
    'NEXTVISIT_SECRET_KEY',
    'POSTGRES_PASSWORD',
    'SERVICES_PASSWORD',
    'KAFKA_PASSWORD',
    'REDIS_PASSWORD',
  ])('refuses the default of %s in docker-compose.yml, in any variable', (variable) => {
    const compose = readFileSync(path.resolve(import.meta.dirname, '../../../docker-compose.yml'), 'utf8')
    const published = new Set(
      [...compose.matchAll(/\$\{(\w+):-([^}]+)\}/g)].flatMap(([, name, value]) =>
        name === variable && value !== undefined ? [value] : [],
      ),
    )
    expect(published.size).toBe(1)
    for (const secret of [...published].flatMap((each) => [each, each.toUpperCase()])) {
      const [bare, inAddress] = [secret, `postgresql://role:${secret}@postgres:5432/nextvisit`]
      for (const SETTING of [bare, inAddress])
        expect(() => read({ NEXTVISIT_MODE: 'production', SETTING })).toThrow('SETTING is wrong')
    }
  })
})

const [one, two] = ['ab'.repeat(32), 'cd'.repeat(32)]
const readRing = (NEXTVISIT_SECRET_KEY?: string) => readConfig(keyRingConfig, { NEXTVISIT_SECRET_KEY }).keyRing
const readFaultyRing = () => readRing(`${one},${two?.slice(1)}`)

describe('NEXTVISIT_SECRET_KEY', () => {
  it('gives a ring of its keys; none if it is not set', () => {
    expect(readRing(`${one},${two}`)?.keyIds).toHaveLength(2)
    expect(readRing('')).toBeUndefined()
    expect(readRing()).toBeUndefined()
  })

  it('is refused by the position of a faulty key, which is not printed', () => {
    expect(readFaultyRing).toThrow('NEXTVISIT_SECRET_KEY is wrong: key 2 must be 64 hexadecimal characters')
    expect(readFaultyRing).not.toThrow(/abab|cdcd/)
  })

  it('is refused in production if any of its keys is published', () => {
    const published = '6f6e6c792d666f722d746869732d6d616368696e652d6e6f742d70726f642121'
    const env = { NEXTVISIT_MODE: 'production', NEXTVISIT_SECRET_KEY: `${one},${published}` }
    expect(() => readConfig(keyRingConfig.and(modeConfig), env)).toThrow('NEXTVISIT_SECRET_KEY is wrong: holds a')
  })
})

it('addressesConfig reads the internal addresses of services; the variable of the gateway contains INTERNAL', () => {
  const env = { GATEWAY_INTERNAL_URLS: 'http://127.0.0.1:7100', TRAIT_REGISTRY_URLS: 'https://registry' }
  expect(readConfig(addressesConfig('gateway', 'trait-registry'), env)).toMatchObject({
    services: { gateway: { entries: ['http://127.0.0.1:7100'] }, 'trait-registry': { entries: ['https://registry'] } },
  })
})

it.each([
  ['METERING_URLS', 'dns+https://metering:9100'],
  ['METERING_URLS', 'dns://metering:9100'],
  ['METERING_URLS', 'dns+http://'],
  ['METERING_URLS', 'http://one:9100,metering:9100'],
  ['ADDRESS_LOOKUP_MS', '5s'],
  ['ADDRESS_LOOKUP_MS', '99'],
])('addressesConfig refuses %s=%s', (name, value) => {
  const env = { METERING_URLS: 'dns+http://metering:9100,http://10.0.0.7:9100', ADDRESS_LOOKUP_MS: '100' }
  expect(() => readConfig(addressesConfig('metering'), env)).not.toThrow()
  expect(() => readConfig(addressesConfig('metering'), { ...env, [name]: value })).toThrow(`${name} is wrong: must be`)
})

function readRetention(text: string | undefined): number | undefined {
  return readConfig(keyRetentionConfig, { ERASURE_KEY_RETENTION: text }).keyRetentionMs
}

describe('the retention of keys', () => {
  it('is not set, or a duration, or seconds', () => {
    expect([undefined, '', '10s', '10', '90m', '7d'].map(readRetention)).toEqual([
      undefined,
      undefined,
      10_000,
      10_000,
      5_400_000,
      604_800_000,
    ])
  })

  it.each(['9s', '9', '0', '-1h', '1.5h', '1w', 'never', '10 s'])('is not %s', (text) => {
    expect(() => readRetention(text)).toThrow(
      'ERASURE_KEY_RETENTION is wrong: must be a duration such as 24h, 90m or 30s, at least 10s',
    )
  })
})
