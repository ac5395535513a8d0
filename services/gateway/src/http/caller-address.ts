import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

export type CallerAddress = (
  request: Pick<IncomingMessage, 'headers'> & { readonly socket: { readonly remoteAddress?: string | undefined } },
) => string | undefined

/**
 * Whose address a request came from: the connection's. Where that is a proxy's that is trusted, the one that this proxy
 * has appended to `X-Forwarded-For`, and so on to the left. Nobody else's word counts: a caller may have sent the header.
 */
export function createCallerAddress(trustedProxies: readonly string[]): CallerAddress {
  const proxies = blockListOf(trustedProxies)
  const isTrusted = (address: string) => proxies.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  return ({ headers, socket }) => {
    let address = plainAddress(socket.remoteAddress)
    if (trustedProxies.length === 0) return address
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
    for (const next of forwarded.toReversed()) {
      if (address === undefined || !isTrusted(address)) return address
      address = plainAddress(next)
    }
    return address
  }
}

/** `10.0.0.0/8`, `fd00::/8`, `10.1.2.3`. */
export function isAddressRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const bits = isIPv4(address) ? 32 : 128
  return isIP(address) > 0 && rest.length === 0 && (prefix === undefined || isPrefix(prefix, bits))
}

function isPrefix(text: string, bits: number): boolean {
  return /^\d{1,3}$/.test(text) && Number(text) <= bits
}

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/')
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return list
}

/** Without what else may stand there: a port, a zone, IPv6's way of writing IPv4. */
function plainAddress(text: string | undefined): string | undefined {
  const [, bracketed, v4] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(text?.trim() ?? '') ?? []
  const [address = ''] = (bracketed ?? v4 ?? text ?? '').trim().split('%')
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  const plain = mapped ?? address
  return isIPv4(plain) || isIPv6(plain) ? plain : undefined
}
