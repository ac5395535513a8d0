import { Node, Yallist } from 'yallist'

interface BodyBudgetOptions {
  /** Of all bodies that are being read or handled, as sent and as inflated. */
  readonly maxBytes: number
  /** Bodies of one API key that have not arrived completely. */
  readonly maxUnfinishedPerKey: number
}

/** What one request may hold; `release` ends it. */
export interface BodyPermit {
  /** Counts bytes of the body. False where there is no room for them: they are not counted. */
  readonly take: (bytes: number) => boolean
  /** `listener` is called if the body has to make room for another one. Nothing is counted for it from then on. */
  readonly onDisplaced: (listener: () => void) => void
  /** The body has arrived, or will not. */
  readonly finish: () => void
  /** What a body without a key holds is this key's from here on. False where the key has no room for it. */
  readonly moveTo: (key: string) => boolean
  /** The request is over. */
  readonly release: () => void
}

/** The key of bodies whose key is still unknown, since it stands in them: they share one key's part. */
export const KEY_IN_BODY = 'key in the body'

/** A permit for a request with this API key; none where the key has too many unfinished bodies. */
type OpenBody = (key: string, isUnfinished: boolean) => BodyPermit | undefined

/** Of the bytes that are free, how much one key may hold. */
const SHARE = 1 / 4

interface Holder {
  readonly key: string
  requests: number
  bytes: number
  /** What displaces each body that is still coming, the oldest first. Not a Set: docs/reference/performance.md, Memory. */
  readonly unfinished: Yallist<() => void>
}

/**
 * Shares the memory for bodies among API keys (decisions.md, Busy and broken). What a key may hold is a share of what is
 * free, so that some keys that hold all they may never leave nothing to the next one.
 *
 * Anybody can send a body whose key is still unknown. So where these have no room left, the one that has waited longest for
 * its end makes room: who sends a body at once is not concerned by those who never end theirs.
 */
export function createBodyBudget({ maxBytes, maxUnfinishedPerKey }: BodyBudgetOptions): OpenBody {
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

  /** False where none can make room. */
  function displaceOldest({ key, unfinished }: Holder, except?: () => void): boolean {
    if (key !== KEY_IN_BODY) return false
    for (const displace of unfinished) {
      if (displace === except) continue
      displace()
      return true
    }
    return false
  }

  return (key, isUnfinished) => {
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
