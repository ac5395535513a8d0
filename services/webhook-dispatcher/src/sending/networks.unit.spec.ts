import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkAddress, LOOPBACK, parseNetworks } from './networks.ts'

const none = { networks: [] }

function outcomeOf(address: string, rules: Parameters<typeof checkAddress>[1] = none): string {
  const verdict = checkAddress(address, rules)
  return verdict.outcome === 'blocked' ? verdict.because : verdict.outcome
}

function networks(text: string) {
  const parsed = parseNetworks(text)
  if (!parsed) throw new Error(`no networks: ${text}`)
  return parsed
}

const octet = fc.integer({ min: 0, max: 255 })
const ipv4 = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.'))
const group = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16))

function hexOf(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

describe('an address', () => {
  it.each(['8.8.8.8', '1.1.1.1', '203.0.114.1', '2606:4700::1111', '2a00:1450:4001::64'])('%s is public', (address) => {
    expect(outcomeOf(address)).toBe('allowed')
  })

  it.each([
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['10.0.0.1', 'private'],
    ['100.64.0.1', 'carrierGradeNat'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.169.254', 'linkLocal'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.8', 'reserved'],
    ['192.0.2.1', 'reserved'],
    ['192.88.99.1', 'reserved'],
    ['192.168.1.1', 'private'],
    ['198.18.0.1', 'reserved'],
    ['198.51.100.1', 'reserved'],
    ['203.0.113.1', 'reserved'],
    ['224.0.0.1', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::127.0.0.1', 'ipv4Mapped'],
    ['::ffff:127.0.0.1', 'ipv4Mapped'],
    ['::ffff:8.8.8.8', 'ipv4Mapped'],
    ['::ffff:0:127.0.0.1', 'rfc6145'],
    ['64:ff9b::127.0.0.1', 'rfc6052'],
    ['64:ff9b::8.8.8.8', 'rfc6052'],
    ['64:ff9b:1::10.0.0.1', 'rfc6052'],
    ['100::1', 'discard'],
    ['2001::1', 'teredo'],
    ['2001:db8::1', 'reserved'],
    ['2002:7f00:1::', '6to4'],
    ['2002:808:808::1', '6to4'],
    ['3fff::1', 'reserved'],
    ['4000::1', 'reserved'],
    ['fc00::1', 'uniqueLocal'],
    ['fd12:3456::1', 'uniqueLocal'],
    ['fe80::1', 'linkLocal'],
    ['fe80::1%eth0', 'linkLocal'],
    ['fec0::1', 'deprecatedSiteLocal'],
    ['ff02::1', 'multicast'],
    ['', 'unknown'],
    ['localhost', 'unknown'],
  ])('%s is blocked: %s', (address, because) => {
    expect(outcomeOf(address)).toBe(because)
  })

  it('of IPv6 that contains one of IPv4 is never public', () => {
    fc.assert(
      fc.property(ipv4, group, (address, rest) => {
        const hex = hexOf(address)
        for (const one of [
          `::ffff:${hex}`,
          `::${hex}`,
          `64:ff9b::${hex}`,
          `2002:${hex}::${rest}`,
          `2001:0:${hex}::${rest}`,
        ])
          expect(checkAddress(one, none).outcome).toBe('blocked')
      }),
    )
  })

  it('of loopback is blocked in each notation, unless loopback is allowed', () => {
    fc.assert(
      fc.property(octet, octet, octet, (b, c, d) => {
        const address = `127.${b}.${c}.${d}`
        const number = 127 * 2 ** 24 + b * 2 ** 16 + c * 256 + d
        const octal = [127, b, c, d].map((one) => `0${one.toString(8)}`).join('.')
        const short = `127.${b * 2 ** 16 + c * 256 + d}`
        // The form in which the endpoint's host reaches the check.
        for (const one of [address, String(number), `0x${number.toString(16)}`, octal, short, `${address}.`]) {
          const { hostname } = new URL(`https://${one}/`)
          expect(outcomeOf(hostname)).toBe('loopback')
          expect(outcomeOf(hostname, { networks: LOOPBACK })).toBe('allowed')
        }
      }),
    )
  })
})

describe('allowed networks', () => {
  it('are allowed in addition to public addresses', () => {
    const rules = { networks: networks('10.1.0.0/16, fd00:1::/32') }
    expect(outcomeOf('10.1.255.1', rules)).toBe('allowed')
    expect(outcomeOf('::ffff:10.1.255.1', rules)).toBe('allowed')
    expect(outcomeOf('fd00:1::7', rules)).toBe('allowed')
    expect(outcomeOf('8.8.8.8', rules)).toBe('allowed')
    expect(outcomeOf('10.2.0.1', rules)).toBe('private')
    expect(outcomeOf('::ffff:10.2.0.1', rules)).toBe('ipv4Mapped')
    expect(outcomeOf('64:ff9b::10.1.0.1', rules)).toBe('rfc6052')
  })

  it('are the only ones over plain http', () => {
    const rules = { networks: LOOPBACK, isPublicAllowed: false }
    expect(outcomeOf('127.0.0.1', rules)).toBe('allowed')
    expect(outcomeOf('8.8.8.8', rules)).toBe('public')
  })

  it.each(['', '10.0.0.0', '10.0.0.0/33', '10/8', '010.0.0.0/8', 'localhost', '10.0.0.0/8,', '::1/129'])(
    'cannot be %o',
    (text) => {
      expect(parseNetworks(text)).toBeUndefined()
    },
  )
})
