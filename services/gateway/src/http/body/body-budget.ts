import { Node, Yallist } from 'yallist'

interface BodyBudgetOptions {
  /** Maximum bytes of all bodies that are read or handled, as sent and as inflated. */
  readonly maxBytes: number
  /** Maximum number of unfinished bodies of an API key. */
  readonly maxUnfinishedPerKey: number
}

/** The memory of one request's body. */
export interface BodyPermit {
  /** Counts bytes of the body. Returns false, and counts nothing, if there is no room for them. */
  readonly take: (bytes: number) => boolean
  /** Sets the listener that is called if the body must make room for another one. From then on it counts no bytes. */
  readonly onDisplaced: (listener: () => void) => void
  /** Marks the body as arrived, or given up. */
  readonly finish: () => void
  /** Moves the bytes of a body without a key to its key. Returns false if the key has no room for them. */
  readonly moveTo: (key: string) => boolean
  /** Gives back all bytes at the end of the request. */
  readonly release: () => void
}

/** Stands for the key of all bodies whose key is inside and still unknown: they share one key's part. */
export const KEY_IN_BODY = 'key in the body'

/** Share of the free bytes that one key may hold. */
const SHARE = 1 / 4

interface Holder {
  readonly key: string
  requests: number
  bytes: number
  /** Functions that displace unfinished bodies, the oldest first. Not a Set: docs/reference/performance.md, Memory. */
  readonly unfinished: Yallist<() => void>
}

/**
 * Shares the memory for bodies among API keys (decisions.md, Busy and broken). A key may hold a share of the free
 * bytes, so keys that hold their maximum always leave bytes to the next one.
 *
 * Anybody can send a body whose key is still unknown. If these have no room left, the unfinished one that is oldest
 * makes room: stalled uploads cannot block complete ones.
 */
export function createBodyBudget({ maxBytes, maxUnfinishedPerKey }: BodyBudgetOptions) {
  const holders = new Map<string, Holder>()
  let freeBytes = maxBytes

  function enter(key: string): Holder {
    const holder = holders.get(key) ?? { key, requests: 0, bytes: 0, unfinished: new Yallist() }
    holders.set(key, holder)
    holder.requests += 1
    return holder
  }

  function leave(holder: Holder): void {
    holder.requests -= 1
    if (holder.requests === 0) holders.delete(holder.key)
  }

  /** Displaces an unfinished body. Returns false if there is none. */
  function displaceOldest({ key, unfinished }: Holder, except?: () => void): boolean {
    if (key !== KEY_IN_BODY) return false
    for (const displace of unfinished) {
      if (displace === except) continue
      displace()
      return true
    }
    return false
  }

  /** Returns a permit for a request with this API key; undefined if the key has too many unfinished bodies. */
  return (key: string, isUnfinished: boolean): BodyPermit | undefined => {
    let holder = enter(key)
    if (isUnfinished && holder.unfinished.length >= maxUnfinishedPerKey && !displaceOldest(holder)) {
      leave(holder)
      return undefined
    }
    let held = 0
    let isDisplaced = false
    let tell: (() => void) | undefined
    const giveBack = () => {
      holder.bytes -= held
      freeBytes += held
      held = 0
    }
    const finish = () => void node.list?.removeNode(node)
    const displace = () => {
      isDisplaced = true
      finish()
      giveBack()
      tell?.()
    }
    const node = new Node(displace)
    if (isUnfinished) holder.unfinished.pushNode(node)
    const take = (bytes: number) => {
      if (isDisplaced) return false
      while (holder.bytes + bytes > freeBytes * SHARE) if (!displaceOldest(holder, displace)) return false
      held += bytes
      holder.bytes += bytes
      freeBytes -= bytes
      return true
    }
    return {
      take,
      onDisplaced: (listener) => void (tell = listener),
      finish,
      moveTo: (keyOfBody) => {
        const bytes = held
        finish()
        giveBack()
        leave(holder)
        holder = enter(keyOfBody)
        return take(bytes)
      },
      release: () => {
        finish()
        giveBack()
        leave(holder)
      },
    }
  }
}
