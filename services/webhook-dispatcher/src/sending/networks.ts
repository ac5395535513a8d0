import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A network in CIDR notation, such as `10.0.0.0/8`. */
export interface Network {
  readonly address: Address
  readonly prefixLength: number
}

/** The addresses of this machine. */
export const LOOPBACK: readonly Network[] = parseNetworks('127.0.0.0/8, ::1/128') ?? []

/** All addresses of IPv6 that are assigned to hosts in the Internet. Ranges that the library does not know are beyond it. */
const GLOBAL_IPV6 = { address: ipaddr.IPv6.parse('2000::'), prefixLength: 3 }

/** Parses networks that are separated by commas. Returns undefined if a part is no network. */
export function parseNetworks(text: string): readonly Network[] | undefined {
  const parts = text.split(',').map((part) => part.trim())
  // The library accepts short and octal forms, which readers take for another network.
  if (!parts.every((part) => ipaddr.IPv6.isValidCIDR(part) || ipaddr.IPv4.isValidCIDRFourPartDecimal(part)))
    return undefined
  return parts.map((part) => {
    const [address, prefixLength] = ipaddr.parseCIDR(part)
    return { address, prefixLength }
  })
}

/** `because`: the kind of the address, without the address: it would tell names of an inner network. */
export type AddressVerdict = { readonly outcome: 'allowed' } | { readonly outcome: 'blocked'; readonly because: string }

/**
 * Decides whether the dispatcher may connect to an address: a public one, or one in these networks. Addresses of IPv6 that contain one
 * of IPv4 (mapped, NAT64, 6to4, Teredo) are not public, because the network may send them anywhere. A mapped one is in the networks of the
 * address that it contains.
 */
export function checkAddress(
  text: string,
  { networks, isPublicAllowed = true }: { readonly networks: readonly Network[]; readonly isPublicAllowed?: boolean },
): AddressVerdict {
  if (!ipaddr.isValid(text)) return { outcome: 'blocked', because: 'unknown' }
  const address = ipaddr.parse(text)
  // process() turns mapped addresses into those of IPv4.
  if (networks.some((network) => isIn(ipaddr.process(text), network) || isIn(address, network)))
    return { outcome: 'allowed' }
  const range = address.range()
  if (range !== 'unicast') return { outcome: 'blocked', because: range }
  if (address.kind() === 'ipv6' && !isIn(address, GLOBAL_IPV6)) return { outcome: 'blocked', because: 'reserved' }
  return isPublicAllowed ? { outcome: 'allowed' } : { outcome: 'blocked', because: 'public' }
}

function isIn(one: Address, { address, prefixLength }: Network): boolean {
  return one.kind() === address.kind() && one.match(address, prefixLength)
}
