import { describe, expect, it } from 'vitest'
import { createCallerAddress, isAddressRange } from './caller-address.ts'

function callerOf(remoteAddress: string | undefined, forwarded: string | undefined, trusted: readonly string[]) {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return createCallerAddress(trusted)({ headers, socket: { remoteAddress } })
}

describe("the caller's address", () => {
  it.each<[string, string | undefined, string | undefined, readonly string[], string | undefined]>([
    ['the connection', '8.8.8.8', undefined, [], '8.8.8.8'],
    ['IPv4 as IPv6 writes it', '::ffff:8.8.8.8', undefined, [], '8.8.8.8'],
    ['IPv6', '2001:4860:4860::8888', undefined, [], '2001:4860:4860::8888'],
    ['IPv6 with a zone', 'fe80::1%eth0', undefined, [], 'fe80::1'],
    ['a connection that is gone', undefined, undefined, [], undefined],
    ['the header, while nobody is trusted', '8.8.8.8', '9.9.9.9', [], '8.8.8.8'],
    ['the header of who is not trusted', '8.8.8.8', '9.9.9.9', ['10.0.0.0/8'], '8.8.8.8'],
    ['what a proxy says', '10.0.0.7', '9.9.9.9', ['10.0.0.0/8'], '9.9.9.9'],
    ['what a proxy says, over IPv6', '::ffff:10.0.0.7', '9.9.9.9', ['10.0.0.0/8'], '9.9.9.9'],
    ['a proxy by address', 'fd00::1', '2001:4860::1', ['fd00::1'], '2001:4860::1'],
    ['through two proxies', '10.0.0.7', '9.9.9.9, 192.168.0.1', ['10.0.0.0/8', '192.168.0.0/16'], '9.9.9.9'],
    ['not what a caller put before it', '10.0.0.7', '1.1.1.1, 9.9.9.9', ['10.0.0.0/8'], '9.9.9.9'],
    ['not what a caller says of proxies', '10.0.0.7', '1.1.1.1, 10.0.0.9, 9.9.9.9', ['10.0.0.0/8'], '9.9.9.9'],
    ['a proxy that calls by itself', '10.0.0.7', '10.0.0.8', ['10.0.0.0/8'], '10.0.0.8'],
    ['what anybody says, where everybody is trusted', '8.8.8.8', '9.9.9.9', ['0.0.0.0/0'], '9.9.9.9'],
    ['with a port', '10.0.0.7', '9.9.9.9:4711', ['10.0.0.0/8'], '9.9.9.9'],
    ['IPv6 with a port', '10.0.0.7', '[2001:4860::1]:4711', ['10.0.0.0/8'], '2001:4860::1'],
    ['what is no address', '10.0.0.7', '1.1.1.1, unknown', ['10.0.0.0/8'], undefined],
    ['nothing', '10.0.0.7', '', ['10.0.0.0/8'], undefined],
    ['nothing between commas', '10.0.0.7', ' 9.9.9.9 ,, ', ['10.0.0.0/8'], '9.9.9.9'],
    ['through 16 proxies', '10.0.0.7', `9.9.9.9${', 10.0.0.8'.repeat(15)}`, ['10.0.0.0/8'], '9.9.9.9'],
    ['no further than that', '10.0.0.7', `9.9.9.9${', 10.0.0.8'.repeat(16)}`, ['10.0.0.0/8'], undefined],
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
