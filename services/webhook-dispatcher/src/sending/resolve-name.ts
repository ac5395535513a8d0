import dns from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** Of the first question to a server of names, ms. The second one waits twice as long. */
const ASK_WITHIN_MS = 2_000
const TRIES = 2
/** Once the addresses of IPv4 are known, those of IPv6 have this long: some servers of names do not answer about them, ms. */
const IPV6_GRACE_MS = 50
/** A question to the system that fails later than this is slow, ms. */
const SLOW_LOOKUP_MS = 1_000
/** A name about which the system has failed slowly is not asked for again before, ms. */
const LOOK_UP_AGAIN_AFTER_MS = 30_000
const MAX_SLOW_NAMES = 1_000
/** Names that the system has resolved last time, and that it is asked about before others. */
const MAX_KNOWN_NAMES = 1_000

/** Returns all addresses of a name. Rejects with a {@link NameUnresolvedError}, or with the error of the system. */
export type ResolveName = (hostname: string) => Promise<readonly string[]>

/** The system was not asked, because it has just failed slowly. */
export class NameUnresolvedError extends Error {
  override readonly name = 'NameUnresolvedError'
  readonly code = 'EAI_AGAIN'
  readonly retryable = true
}

interface ResolverParts {
  /** Servers of names, as `127.0.0.1:53`. Default: those of the system. */
  readonly servers?: readonly string[]
  /** Asks the system. Default: with `getaddrinfo`. */
  readonly lookUp?: ResolveName
}

/**
 * Creates a function that asks the servers of names, which blocks no thread: names about which they do not answer delay no others. Then it asks
 * the system, which has a file of hosts and search domains.
 */
export function createNameResolver({ servers, lookUp = lookUpInSystem }: ResolverParts = {}): ResolveName {
  const resolver = new dns.Resolver({ timeout: ASK_WITHIN_MS, tries: TRIES })
  if (servers) resolver.setServers(servers)
  const lookUpInTurn = knownFirst(notSlowAgain(lookUp))

  return async (hostname) => {
    if (IS_THIS_MACHINE.test(hostname)) return lookUpInTurn(hostname)
    const addresses = await askServers(resolver, hostname)
    return addresses.length > 0 ? addresses : lookUpInTurn(hostname)
  }
}

const none = (): readonly string[] => []

/** Returns no address if no server answers, or knows the name. */
async function askServers(resolver: dns.Resolver, hostname: string): Promise<readonly string[]> {
  const askingIPv6 = resolver.resolve6(hostname).catch(none)
  const ofIPv4 = await resolver.resolve4(hostname).catch(none)
  if (ofIPv4.length === 0) return askingIPv6
  const ofIPv6 = await Promise.race([askingIPv6, sleep(IPV6_GRACE_MS, none(), { ref: false })])
  return [...ofIPv4, ...ofIPv6]
}

/** Servers of names need not know it. */
const IS_THIS_MACHINE = /(^|\.)localhost\.?$/

async function lookUpInSystem(hostname: string): Promise<readonly string[]> {
  return (await dns.lookup(hostname, { all: true })).map(({ address }) => address)
}

/**
 * Asks about one name at a time, first about names that were resolved last time: one that the system knows waits for one that it does not at
 * most. A question blocks one of the four threads of the process, and look-ups of services block two at most.
 */
function knownFirst(ask: ResolveName): ResolveName {
  const known = new Set<string>()
  const waiting: { readonly hostname: string; readonly begin: () => void }[] = []
  let isAsking = false

  function beginNext(): void {
    const at = waiting.findIndex(({ hostname }) => known.has(hostname))
    const [next] = waiting.splice(Math.max(0, at), 1)
    if (next) next.begin()
    else isAsking = false
  }

  return async (hostname) => {
    if (isAsking) await new Promise<void>((begin) => waiting.push({ hostname, begin }))
    isAsking = true
    try {
      const addresses = await ask(hostname)
      const [oldest] = known
      if (oldest !== undefined && known.size >= MAX_KNOWN_NAMES) known.delete(oldest)
      known.add(hostname)
      return addresses
    } catch (error) {
      known.delete(hostname)
      throw error
    } finally {
      beginNext()
    }
  }
}

/** Rejects at once for some time after a slow failure. */
function notSlowAgain(ask: ResolveName): ResolveName {
  const againAtMs = new Map<string, number>()
  return async (hostname) => {
    const beganMs = performance.now()
    if ((againAtMs.get(hostname) ?? 0) > beganMs) throw new NameUnresolvedError('The name could not be resolved')
    againAtMs.delete(hostname)
    try {
      return await ask(hostname)
    } catch (error) {
      const nowMs = performance.now()
      if (nowMs - beganMs >= SLOW_LOOKUP_MS) {
        const [oldest] = againAtMs.keys()
        if (oldest !== undefined && againAtMs.size >= MAX_SLOW_NAMES) againAtMs.delete(oldest)
        againAtMs.set(hostname, nowMs + LOOK_UP_AGAIN_AFTER_MS)
      }
      throw error
    }
  }
}
