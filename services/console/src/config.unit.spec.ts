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
  REDIS_URL: 'redis://127.0.0.1:1',
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

const OPEN_ID = {
  CONSOLE_PUBLIC_URL: 'https://ops.example.com/nextvisit',
  CONSOLE_OIDC_ISSUER: 'https://sso.example.com/realms/staff',
  CONSOLE_OIDC_CLIENT_ID: 'nextvisit',
  CONSOLE_OIDC_ROLES_CLAIM: 'groups',
}

it('the configuration has defaults for the sign-in with OpenID Connect, and needs no token with it', () => {
  const config = read({ ...GIVEN, ...OPEN_ID, CONSOLE_TOKEN: '', CONSOLE_VIEWER_TOKEN: '' })
  expect(config).toMatchObject({
    tokens: { operator: undefined, viewer: undefined },
    openId: {
      issuer: new globalThis.URL(OPEN_ID.CONSOLE_OIDC_ISSUER),
      clientSecret: undefined,
      name: 'sso.example.com',
      scopes: 'openid profile email',
      roles: { claim: 'groups', operators: ['nextvisit-operator'], viewers: ['nextvisit-viewer'] },
      sessionMs: 4 * 3_600_000,
    },
  })
  expect(
    read({ ...GIVEN, ...OPEN_ID, CONSOLE_OIDC_OPERATORS: 'Platform Team, 7a1c,' }).openId?.roles.operators,
  ).toEqual(['Platform Team', '7a1c'])
})

it.each([
  [{ CONSOLE_TOKEN: '' }, 'CONSOLE_TOKEN is not set: must be a secret of 16 characters or more, unless'],
  [{ CONSOLE_OIDC_CLIENT_ID: 'nextvisit' }, 'CONSOLE_OIDC_CLIENT_ID is wrong: has no effect without'],
  [{ ...OPEN_ID, CONSOLE_OIDC_CLIENT_ID: '' }, 'CONSOLE_OIDC_CLIENT_ID is not set: is needed'],
  [{ ...OPEN_ID, CONSOLE_OIDC_ROLES_CLAIM: '' }, 'CONSOLE_OIDC_ROLES_CLAIM is not set: is needed'],
  [{ ...OPEN_ID, CONSOLE_PUBLIC_URL: '' }, 'CONSOLE_PUBLIC_URL is not set: is needed'],
  [{ ...OPEN_ID, CONSOLE_PUBLIC_URL: 'http://ops.example.com' }, 'CONSOLE_PUBLIC_URL is wrong: must have https'],
  [{ ...OPEN_ID, CONSOLE_OIDC_ISSUER: 'http://sso.example.com' }, 'CONSOLE_OIDC_ISSUER is wrong: must be an address'],
  [{ ...OPEN_ID, CONSOLE_OIDC_ISSUER: 'sso.example.com' }, 'CONSOLE_OIDC_ISSUER is wrong: must be an address'],
  [{ ...OPEN_ID, CONSOLE_OIDC_SCOPES: 'profile' }, 'CONSOLE_OIDC_SCOPES is wrong: must be scopes'],
  [{ ...OPEN_ID, CONSOLE_OIDC_SESSION_MINUTES: '1000' }, 'CONSOLE_OIDC_SESSION_MINUTES is wrong: must be at most 720'],
  [
    { ...OPEN_ID, CONSOLE_OIDC_OPERATORS: 'staff', CONSOLE_OIDC_VIEWERS: 'staff' },
    'CONSOLE_OIDC_VIEWERS is wrong: must have no value of CONSOLE_OIDC_OPERATORS',
  ],
])('the configuration refuses ways to sign in that cannot work: %o', (env, message) => {
  expect(() => read({ ...GIVEN, ...env })).toThrow(message)
})

it.each(['http://localhost:9000', 'http://127.0.0.1:9000', 'https://sso.example.com'])(
  'the configuration accepts the issuer %s',
  (issuer) => {
    expect(read({ ...GIVEN, ...OPEN_ID, CONSOLE_OIDC_ISSUER: issuer }).openId?.issuer.href).toBe(`${issuer}/`)
  },
)
