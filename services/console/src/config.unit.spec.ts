import { addressesVariable, CALLS } from '@nextvisit/contracts'
import { afterEach, expect, it, vi } from 'vitest'
import { readConsoleConfig } from './config.ts'

afterEach(() => vi.unstubAllEnvs())

const URL = 'http://127.0.0.1:1'
const GIVEN = {
  KAFKA_BROKERS: 'one:9092',
  KAFKA_SASL_MECHANISM: 'plain',
  KAFKA_SASL_USERNAME: 'nextvisit',
  KAFKA_SASL_PASSWORD: 'of-kafka',
  INTERNAL_PORT: '1',
  INTERNAL_TOKEN: 'the-internal-token',
  NEXTVISIT_SECRET_KEY: 'ab'.repeat(32),
  CONSOLE_TOKEN: 'the-operators-token',
  CONSOLE_VIEWER_TOKEN: 'the-viewers-token',
  CONSOLE_CLI: '/app/main.ts',
  CONSOLE_OPERATOR_DATABASE_URL: 'postgresql://operator:secret@host:5432/nextvisit',
  ...Object.fromEntries(Object.keys(CALLS).map((service) => [addressesVariable(service), URL])),
}

function read(env: Readonly<Record<string, string>>) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  return readConsoleConfig()
}

it('the configuration passes the settings for the log and its keys to commands, and no token or database of the console', () => {
  const { commandEnvironment, cliEntry, operatorUrl } = read({ ...GIVEN, NODE_OPTIONS: '--max-old-space-size=64' })
  expect(commandEnvironment).toMatchObject({
    KAFKA_BROKERS: 'one:9092',
    KAFKA_SASL_PASSWORD: 'of-kafka',
    NEXTVISIT_SECRET_KEY: GIVEN.NEXTVISIT_SECRET_KEY,
  })
  const names = Object.keys(commandEnvironment).filter((name) => !name.startsWith('KAFKA_'))
  expect(names.filter((name) => name !== 'NODE_EXTRA_CA_CERTS')).toEqual(['NEXTVISIT_SECRET_KEY'])
  expect({ cliEntry, operatorUrl }).toEqual({
    cliEntry: GIVEN.CONSOLE_CLI,
    operatorUrl: GIVEN.CONSOLE_OPERATOR_DATABASE_URL,
  })
})

it('the console starts no commands without configuration for them', () => {
  expect(read({ ...GIVEN, CONSOLE_CLI: '', CONSOLE_OPERATOR_DATABASE_URL: '' })).toMatchObject({
    cliEntry: undefined,
    operatorUrl: undefined,
  })
})

const readWrongAddress = () => read({ ...GIVEN, CONSOLE_OPERATOR_DATABASE_URL: 'secret@host' })

it('the configuration refuses an invalid operator address without repeating it', () => {
  expect(readWrongAddress).toThrow('CONSOLE_OPERATOR_DATABASE_URL is wrong: must be an address like postgresql://')
  expect(readWrongAddress).not.toThrow('secret@host')
})
