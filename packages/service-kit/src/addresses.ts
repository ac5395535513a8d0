import { lookup } from 'node:dns/promises'
import { isIPv6 } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Returns the IP addresses of a name. Rejects if there are none. */
export type LookUp = (hostname: string) => Promise<readonly string[]>

interface AddressesOptions {
  /** Pause between two look-ups of a name. Default: 5 s. */
  readonly lookUpEveryMs?: number
  /** Default: that of the operating system. */
  readonly lookUp?: LookUp
}

/** The addresses of a service's processes. Entries with a name follow its look-ups (decision 0021). */
export interface Addresses {
  /** The entries as configured. */
  readonly entries: readonly string[]
  /** Returns the base URLs that are known now. The first call begins the look-ups. */
  readonly current: () => readonly string[]
  /** Looks the names up now, unless that happened a moment ago. Resolves after `withinMs` at the latest; never rejects. */
  readonly lookUp: (withinMs: number) => Promise<void>
  /** Resolves as soon as an address is known; at the latest after `withinMs`, at the signal, or when no look-up has found one. */
  readonly untilKnown: (withinMs: number, signal?: AbortSignal) => Promise<void>
  /**
   * Returns the base URL of each process, for callers who ask every one. Waits for the first look-ups. A name without a known
   * address is returned as it is configured: it stands for processes that do not answer.
   */
  readonly each: () => Promise<readonly string[]>
  /** Ends the look-ups. */
  readonly stop: () => void
}

const LOOK_UP_EVERY_MS = 5_000
/** After a look-up, failed calls cause no further one for this time. */
const PAUSE_MS = 250
const FIRST_LOOK_UP_WITHIN_MS = 1_000
/** Look-ups of the operating system occupy threads, of which Node has four. Others inflate bodies and read files. */
const MAX_LOOK_UPS = 2

const PREFIX = 'dns+'
const NAMED = /^dns\+http:\/\//

/** Returns true for an address such as `http://host:port`, or `dns+http://name:port` for all addresses of a name. */
export function isServiceAddress(text: string): boolean {
  const address = NAMED.test(text) ? text.slice(PREFIX.length) : text
  return URL.canParse(address) && ['http:', 'https:'].includes(new URL(address).protocol)
}

/** Creates the addresses of these entries. Looks nothing up before they are used. */
export function createAddresses(
  entries: readonly string[],
  { lookUpEveryMs = LOOK_UP_EVERY_MS, lookUp = lookUpName }: AddressesOptions = {},
): Addresses {
  let current: readonly string[] = []
  const join = (): void => void (current = [...new Set(sources.flatMap((source) => source.urls()))])
  const names = new Map(
    entries
      .filter((entry) => NAMED.test(entry))
      .map((entry) => [entry, createName(entry, lookUp, lookUpEveryMs, join)]),
  )
  const sources = entries.map((entry) => names.get(entry) ?? { urls: () => [entry] })
  join()

  const lookUpNow: Addresses['lookUp'] = async (withinMs) => {
    if (names.size === 0) return
    const looked = Promise.all(Array.from(names.values(), (name) => name.refresh()))
    await endOf(looked, withinMs)
  }
  const untilKnown: Addresses['untilKnown'] = async (withinMs, signal) => {
    if (current.length > 0) return
    const looked = Array.from(names.values(), async (name) => {
      await name.refresh()
      if (current.length === 0) throw new Error('Others may find an address.')
    })
    await endOf(
      Promise.any(looked).catch(() => undefined),
      withinMs,
      signal,
    )
  }
  return {
    entries,
    current: () => {
      for (const name of names.values()) name.begin()
      return current
    },
    lookUp: lookUpNow,
    untilKnown,
    each: async () => {
      const isNew = Array.from(names.values()).some((name) => !name.isLookedUp())
      if (isNew || current.length === 0) await lookUpNow(FIRST_LOOK_UP_WITHIN_MS)
      for (const name of names.values()) name.begin()
      return [
        ...new Set(sources.flatMap((source, at) => (source.urls().length > 0 ? source.urls() : (entries[at] ?? [])))),
      ]
    },
    stop: () => {
      for (const name of names.values()) name.stop()
    },
  }
}

/**
 * Returns a function that returns one object for each process that exists now, by its address. An object is kept as long as the address
 * exists. `create` gets the address alone.
 */
export function createForEachProcess<One>(
  { each }: Pick<Addresses, 'each'>,
  create: (addresses: Addresses, url: string) => One,
): () => Promise<ReadonlyMap<string, One>> {
  let kept: ReadonlyMap<string, One> = new Map()
  return async () => {
    const urls = await each()
    kept = new Map(urls.map((url) => [url, kept.get(url) ?? create(createAddresses([url]), url)]))
    return kept
  }
}

/** Resolves when the look-ups have ended; at the latest after `withinMs`, or at the signal. */
async function endOf(lookedUp: Promise<unknown>, withinMs: number, signal?: AbortSignal): Promise<void> {
  const options = { ref: false, ...(signal && { signal }) }
  await Promise.race([lookedUp, sleep(withinMs, undefined, options).catch(() => undefined)])
}

/** Follows the addresses of one name. A failed look-up keeps the last ones: the name server may be down, or all processes. */
function createName(entry: string, lookUp: LookUp, everyMs: number, onChange: () => void) {
  const { protocol, hostname, port } = new URL(entry.slice(PREFIX.length))
  const urlOf = (address: string): string =>
    `${protocol}//${isIPv6(address) ? `[${address}]` : address}${port && `:${port}`}`
  let urls: readonly string[] = []
  let inFlight: Promise<void> | undefined
  let endedAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const isLookedUp = (): boolean => endedAt !== Number.NEGATIVE_INFINITY

  async function run(): Promise<void> {
    const found = await lookUp(hostname).then(
      (addresses) => addresses.map(urlOf),
      () => [],
    )
    inFlight = undefined
    endedAt = performance.now()
    if (isStopped) return
    timer = setTimeout(() => void start(), everyMs).unref()
    if (found.length === 0 || hasSame(found, urls)) return
    // In an order of its own, so that not all callers ask the same process.
    urls = shuffled(found)
    onChange()
  }

  function start(): Promise<void> {
    clearTimeout(timer)
    if (!isStopped) inFlight ??= run()
    return inFlight ?? Promise.resolve()
  }

  return {
    urls: () => urls,
    /** Returns true after the first look-up, also if it has failed. */
    isLookedUp,
    /** Shares a look-up in flight. */
    refresh: () => (!inFlight && performance.now() - endedAt < PAUSE_MS ? Promise.resolve() : start()),
    /** Starts the look-ups if they have not started. */
    begin: () => {
      if (!isLookedUp() && !inFlight) void start()
    },
    stop: () => {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

function hasSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one) => others.includes(one))
}

function shuffled(items: readonly string[]): readonly string[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ item }) => item)
}

/** Bounds the look-ups that run at once, over all names of the process: a name server that hangs must not occupy every thread. */
export function boundLookUps(lookUp: LookUp, maxAtOnce: number): LookUp {
  const waiting: (() => void)[] = []
  let free = maxAtOnce
  return async (hostname) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await lookUp(hostname)
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}

/** Looks a name up like other programs: with search domains and the hosts file. A process with both kinds of address counts once. */
const lookUpName = boundLookUps(async (hostname) => {
  const found = await lookup(hostname, { all: true })
  const ofIPv4 = found.filter(({ family }) => family === 4)
  return (ofIPv4.length > 0 ? ofIPv4 : found).map(({ address }) => address)
}, MAX_LOOK_UPS)
