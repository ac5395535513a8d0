import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import proxyAddr from 'proxy-addr'

interface AddressedRequest extends Pick<IncomingMessage, 'headers'> {
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** More proxies than anybody chains. Addresses further left are ignored, since a caller may have sent them. */
const MAX_PROXIES = 16
/** Maximum length of an IPv6 address with zone and port. */
const MAX_ADDRESS_LENGTH = 100

/**
 * Finds the address of a request's caller. It starts with the connection's address. While that is a trusted proxy's, it
 * continues with the next address to the left in `X-Forwarded-For`. Other parts of the header may be forged.
 */
export function createCallerAddress(trustedProxies: readonly string[]) {
  const isInRange = compileRanges(trustedProxies)
  const isTrusted = (address: string | undefined) => address !== undefined && isInRange(address, 0)
  return ({ headers, socket }: AddressedRequest): string | undefined => {
    const caller = plainAddress(socket.remoteAddress)
    if (!isTrusted(caller)) return caller
    const forwarded = String(headers['x-forwarded-for'] ?? '').split(',')
    const hops = forwarded.filter((item) => item.trim() !== '').toReversed()
    const addresses = hops.slice(0, MAX_PROXIES).map(plainAddress)
    const stranger = addresses.findIndex((address) => !isTrusted(address))
    if (stranger !== -1) return addresses[stranger]
    // All are trusted: the leftmost called by itself, unless it is beyond the limit or unnamed.
    return hops.length > MAX_PROXIES ? undefined : addresses.at(-1)
  }
}

/** Returns true for addresses and ranges such as `10.0.0.0/8`, `fd00::/8` and `10.1.2.3`. */
export function isAddressRange(text: string): boolean {
  try {
    compileRanges([text])
    return isIP(text.split('/')[0] ?? '') > 0
  } catch {
    return false
  }
}

/** Compiles ranges; throws for an invalid one. The library rejects ranges of everything, so these are halved. */
function compileRanges(ranges: readonly string[]): (address: string, index: number) => boolean {
  const halved = ranges.flatMap((range) => {
    const family = range.endsWith('/0') ? isIP(range.slice(0, -2)) : 0
    if (family === 4) return ['0.0.0.0/1', '128.0.0.0/1']
    return family === 6 ? ['::/1', '8000::/1'] : range
  })
  return proxyAddr.compile(halved)
}

/** Returns an address without port, zone and IPv6's prefix of IPv4 addresses; undefined for anything else. */
function plainAddress(text = ''): string | undefined {
  if (text.length > MAX_ADDRESS_LENGTH) return undefined
  const unbracketed = text.trim().replace(/^\[([^\]]+)\](:\d+)?$/, '$1')
  const withoutPort = unbracketed.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  const plain = withoutPort.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
  return isIP(plain) > 0 ? plain : undefined
}
