import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'
import { loadCountries } from './caller-country.ts'

const countryOf = loadCountries()
const GERMAN = '193.99.144.80'

async function identify(at: GatewayFixture, path: string, body: object) {
  const key = path.includes('/sdk/') ? at.keys.sdk : at.keys.admin
  const headers = { 'content-type': 'application/json', 'x-api-key': key, 'x-forwarded-for': GERMAN }
  const answer = await at.call('POST', path, headers, JSON.stringify(body))
  expect(answer.status).toBe(200)
}
const visit = (at: GatewayFixture, body: object) => identify(at, '/v2/sdk/identify-user', body)

/** Returns the country in the record, which does not contain the address. */
async function recordOf(at: GatewayFixture, userName: string) {
  const facts = (await at.records()).map(({ fact }) => fact)
  const found = facts.find((fact) => fact.type === 'IdentifyRequested' && fact.userName === userName)
  if (found?.type !== 'IdentifyRequested') throw new Error(`${userName} was not identified`)
  expect(JSON.stringify(found)).not.toContain(GERMAN)
  return { country: found.device.$countryCode, filtered: found.filteredFields }
}

describe('the country of an address', () => {
  it.each([
    [GERMAN, 'DE'],
    ['2a02:2e0:3fe:1001:302::', 'DE'],
    ['8.8.8.8', 'US'],
  ])('of %s is %s', (address, country) => {
    expect(countryOf(address)).toBe(country)
  })

  it.each(['127.0.0.1', '10.1.2.3', '192.168.1.1', '172.16.0.1', '100.64.0.1', '169.254.1.1', '203.0.113.7'])(
    'is unknown for %s, which is private or reserved',
    (address) => {
      expect(countryOf(address)).toBeUndefined()
    },
  )

  it.each(['::1', 'fe80::1', 'fd00::1', '2001:db8::1', undefined])('is unknown for %s', (address) => {
    expect(countryOf(address)).toBeUndefined()
  })
})

describe("a visit's country (decisions.md, Beyond the document)", () => {
  let gateway: GatewayFixture
  beforeAll(async () => {
    gateway = await startGateway({ trustedProxies: ['127.0.0.0/8'] })
  })
  afterAll(() => gateway.stop())

  it.each<[string, object, string | undefined]>([
    ['nothing', {}, 'DE'],
    ['other device fields', { $deviceInfo: { $deviceOs: 'iOS' } }, 'DE'],
    ['null', { $deviceInfo: { $countryCode: null } }, 'DE'],
    ['an invalid country', { $deviceInfo: { $countryCode: 'XX' } }, 'DE'],
    ['an invalid country among the traits', { userAttributes: { $set: { $countryCode: 'XX' } } }, 'DE'],
    ['a country', { $deviceInfo: { $countryCode: 'fr' } }, 'FR'],
    ['a country among the traits', { userAttributes: { $set: { $countryCode: 'FR' } } }, 'FR'],
    ['a country once', { userAttributes: { $setOnce: { $countryCode: 'FR' } } }, 'FR'],
  ])('is that of the body or the address if the body says %s', async (userName, body, country) => {
    await visit(gateway, { userName, ...body })
    expect(await recordOf(gateway, userName)).toEqual({ country, filtered: [] })
  })

  it('is not looked up for an admin identify', async () => {
    await identify(gateway, '/v2/admin/identify-user', { userName: 'admin' })
    expect((await recordOf(gateway, 'admin')).country).toBeUndefined()
  })

  it('ignores the header of an untrusted caller', async () => {
    const untrusting = await startGateway()
    await visit(untrusting, { userName: 'ada' })
    expect((await recordOf(untrusting, 'ada')).country).toBeUndefined()
    await untrusting.stop()
  })

  it.each([
    ['does not keep it', { allowedFields: ['$deviceOs' as const] }],
    ['has switched it off', { traits: [{ slug: '$countryCode', enabled: false }] }],
  ])('is not looked up if the project %s', async (_what, project) => {
    const unkept = await startGateway({ trustedProxies: ['127.0.0.1'], project })
    await visit(unkept, { userName: 'ada' })
    expect(await recordOf(unkept, 'ada')).toEqual({ country: undefined, filtered: [] })
    await unkept.stop()
  })
})
