import dns from 'node:dns/promises'
import { boundLookUps } from '@nextvisit/service-kit'

/** Of the first question to a server of names, ms. The second one waits twice as long. */
const ASK_WITHIN_MS = 2_000
const TRIES = 2
/** A question to the system that fails later than this is slow, ms. */
const SLOW_LOOKUP_MS = 1_000
/** A name about which the system has failed slowly is not asked for again before, ms. */
const LOOK_UP_AGAIN_AFTER_MS = 30_000
const MAX_SLOW_NAMES = 1_000

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
  // Each question to the system blocks one of the four threads of the process, and look-ups of services block two at most.
  const lookUpInTurn = boundLookUps(notSlowAgain(lookUp), 1)

  return async (hostname) => {
    if (IS_THIS_MACHINE.test(hostname)) return lookUpInTurn(hostname)
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    return addresses.length > 0 ? addresses : lookUpInTurn(hostname)
  }
}

/** Servers of names need not know it. */
const IS_THIS_MACHINE = /(^|\.)localhost\.?$/

async function lookUpInSystem(hostname: string): Promise<readonly string[]> {
  return (await dns.lookup(hostname, { all: true })).map(({ address }) => address)
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
