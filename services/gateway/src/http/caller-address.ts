import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import proxyAddr from 'proxy-addr'

export type CallerAddress = (
  request: Pick<IncomingMessage, 'headers'> & { readonly socket: { readonly remoteAddress?: string | undefined } },
) => string | undefined

/**
 * The address that a request came from: the connection's. Where that is a trusted proxy's, the address that this proxy
 * has appended to `X-Forwarded-For`, and so on to the left. Nobody else is believed: a caller may have sent the header.
 */
export function createCallerAddress(trustedProxies: readonly string[]): CallerAddress {
  const trusts = compileRanges(trustedProxies)
  const isTrusted = (address: string | undefined) => trusts(plainAddress(address) ?? '', 0)
  return (request) => {
    const addresses = proxyAddr.all(request as IncomingMessage, isTrusted)
    // A proxy that names no caller.
    if (addresses.length === 1 && isTrusted(addresses[0])) return undefined
    return plainAddress(addresses.at(-1))
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
  const unbracketed = text.trim().replace(/^\[([^\]]+)\](:\d+)?$/, '$1')
  const withoutPort = unbracketed.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  const plain = withoutPort.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
  return isIP(plain) > 0 ? plain : undefined
}
