import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import proxyAddr from 'proxy-addr'

export type CallerAddress = (
  request: Pick<IncomingMessage, 'headers'> & { readonly socket: { readonly remoteAddress?: string | undefined } },
) => string | undefined

/** More proxies than anybody has in a row. What is to the left of so many is not read: a caller may have sent it. */
const MAX_PROXIES = 16
/** Of an IPv6 address with a zone and a port; a longer text is none. */
const MAX_ADDRESS_LENGTH = 100

/**
 * The address that a request came from: the connection's. Where that is a trusted proxy's, the address that this proxy
 * has appended to `X-Forwarded-For`, and so on to the left. Nobody else is believed: a caller may have sent the header.
 */
export function createCallerAddress(trustedProxies: readonly string[]): CallerAddress {
  const isInRange = compileRanges(trustedProxies)
  const isTrusted = (address: string | undefined) => address !== undefined && isInRange(address, 0)
  return ({ headers, socket }) => {
    const caller = plainAddress(socket.remoteAddress)
    if (!isTrusted(caller)) return caller
    const forwarded = String(headers['x-forwarded-for'] ?? '').split(',')
    const hops = forwarded.filter((item) => item.trim() !== '').toReversed()
    const addresses = hops.slice(0, MAX_PROXIES).map(plainAddress)
    const stranger = addresses.findIndex((address) => !isTrusted(address))
    if (stranger !== -1) return addresses[stranger]
    // All are trusted: the first of them called by itself, unless it is not read or the proxy names no caller.
    return hops.length > MAX_PROXIES ? undefined : addresses.at(-1)
  }
}

/** `10.0.0.0/8`, `fd00::/8`, `10.1.2.3`. */
export function isAddressRange(text: string): boolean {
  try {
    compileRanges([text])
    return isIP(text.split('/')[0] ?? '') > 0
  } catch {
    return false
  }
}

/** Throws for what is no range. The library takes no range of everything, so that goes in as its two halves. */
function compileRanges(ranges: readonly string[]): (address: string, index: number) => boolean {
  const halved = ranges.flatMap((range) => {
    const family = range.endsWith('/0') ? isIP(range.slice(0, -2)) : 0
    if (family === 4) return ['0.0.0.0/1', '128.0.0.0/1']
    return family === 6 ? ['::/1', '8000::/1'] : range
  })
  return proxyAddr.compile(halved)
}

/** Without a port, a zone, or IPv6's way to write IPv4. */
function plainAddress(text = ''): string | undefined {
  if (text.length > MAX_ADDRESS_LENGTH) return undefined
  const unbracketed = text.trim().replace(/^\[([^\]]+)\](:\d+)?$/, '$1')
  const withoutPort = unbracketed.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  const plain = withoutPort.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
  return isIP(plain) > 0 ? plain : undefined
}
