import { describe, expect, it } from 'vitest'
import { createCallerAddress, isAddressRange } from './caller-address.ts'

function callerOf(remoteAddress: string | undefined, forwarded: string | undefined, trusted: readonly string[]) {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return createCallerAddress(trusted)({ headers, socket: { remoteAddress } })
}

describe("the caller's address", () => {
  it.each<[string, string | undefined, string | undefined, readonly string[], string | undefined]>([
    ['is that of the connection', '8.8.8.8', undefined, [], '8.8.8.8'],
    ['is plain IPv4 if IPv6 embeds it', '::ffff:8.8.8.8', undefined, [], '8.8.8.8'],
    ['may be IPv6', '2001:4860:4860::8888', undefined, [], '2001:4860:4860::8888'],
    ['may be IPv6 with a zone, which is dropped', 'fe80::1%eth0', undefined, [], 'fe80::1'],
    ['is unknown once the connection is gone', undefined, undefined, [], undefined],
    ['ignores the header without trusted proxies', '8.8.8.8', '9.9.9.9', [], '8.8.8.8'],
    ['ignores the header of an untrusted caller', '8.8.8.8', '9.9.9.9', ['10.0.0.0/8'], '8.8.8.8'],
    ['is that of the header of a trusted proxy', '10.0.0.7', '9.9.9.9', ['10.0.0.0/8'], '9.9.9.9'],
    ['is that of the header of a trusted proxy over IPv6', '::ffff:10.0.0.7', '9.9.9.9', ['10.0.0.0/8'], '9.9.9.9'],
    [
      'is that of the header of a proxy that is trusted by its address',
      'fd00::1',
      '2001:4860::1',
      ['fd00::1'],
      '2001:4860::1',
    ],
    ['is found behind two proxies', '10.0.0.7', '9.9.9.9, 192.168.0.1', ['10.0.0.0/8', '192.168.0.0/16'], '9.9.9.9'],
    [
      'ignores an address that the caller put before its own',
      '10.0.0.7',
      '1.1.1.1, 9.9.9.9',
      ['10.0.0.0/8'],
      '9.9.9.9',
    ],
    [
      'ignores proxies that the caller put before its own address',
      '10.0.0.7',
      '1.1.1.1, 10.0.0.9, 9.9.9.9',
      ['10.0.0.0/8'],
      '9.9.9.9',
    ],
    ['is that of a proxy that calls by itself', '10.0.0.7', '10.0.0.8', ['10.0.0.0/8'], '10.0.0.8'],
    ['is that of any header if all addresses are trusted', '8.8.8.8', '9.9.9.9', ['0.0.0.0/0'], '9.9.9.9'],
    ['is without its port', '10.0.0.7', '9.9.9.9:4711', ['10.0.0.0/8'], '9.9.9.9'],
    ['is without its port in IPv6', '10.0.0.7', '[2001:4860::1]:4711', ['10.0.0.0/8'], '2001:4860::1'],
    ['is unknown if the header holds no address', '10.0.0.7', '1.1.1.1, unknown', ['10.0.0.0/8'], undefined],
    ['is unknown if the header is empty', '10.0.0.7', '', ['10.0.0.0/8'], undefined],
    ['ignores empty parts of the header', '10.0.0.7', ' 9.9.9.9 ,, ', ['10.0.0.0/8'], '9.9.9.9'],
    ['is found behind 16 proxies', '10.0.0.7', `9.9.9.9${', 10.0.0.8'.repeat(15)}`, ['10.0.0.0/8'], '9.9.9.9'],
    [
      'is unknown behind more than 16 proxies',
      '10.0.0.7',
      `9.9.9.9${', 10.0.0.8'.repeat(16)}`,
      ['10.0.0.0/8'],
      undefined,
    ],
  ])('%s', (_what, remoteAddress, forwarded, trusted, expected) => {
    expect(callerOf(remoteAddress, forwarded, trusted)).toBe(expected)
  })

  it.each(['10.0.0.0/8', '10.1.2.3', 'fd00::/8', '::1', '0.0.0.0/0', '::/0'])('takes %s as a range', (text) => {
    expect(isAddressRange(text)).toBe(true)
  })

  it.each([
    '',
    'proxy',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/8/0',
    'proxy/0',
    '10.0.0',
    'fd00::/129',
    '1',
    '10.0.0.0/-1',
  ])('does not take %j as a range', (text) => {
    expect(isAddressRange(text)).toBe(false)
  })
})
