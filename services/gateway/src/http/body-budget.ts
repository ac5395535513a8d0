export interface BodyBudgetOptions {
  /** Of all bodies that are being read or handled, as sent and as inflated. */
  readonly maxBytes: number
  /** Bodies of one API key that have not arrived completely. */
  readonly maxUnfinishedPerKey: number
}

/** What one request may hold; `release` ends it. */
export interface BodyPermit {
  /** Counts bytes of the body. False where there is no room for them: they are not counted. */
  readonly take: (bytes: number) => boolean
  /** The body has arrived, or will not. */
  readonly finish: () => void
  /** The request is over. */
  readonly release: () => void
}

/** A permit for a request with this API key; none where the key has too many unfinished bodies. */
export type OpenBody = (key: string, isUnfinished: boolean) => BodyPermit | undefined

/** Of the bytes that are free, how much one key may hold. */
const SHARE = 1 / 4

/**
 * Shares the memory for bodies among API keys (decisions.md, Busy and broken). What a key may hold is a share of what is
 * free, so that some keys that hold all they may never leave nothing to the next one.
 */
export function createBodyBudget({ maxBytes, maxUnfinishedPerKey }: BodyBudgetOptions): OpenBody {
  const holders = new Map<string, { requests: number; unfinished: number; bytes: number }>()
  let freeBytes = maxBytes
  return (key, isUnfinished) => {
    const holder = holders.get(key) ?? { requests: 0, unfinished: 0, bytes: 0 }
    if (isUnfinished && holder.unfinished >= maxUnfinishedPerKey) return undefined
    holders.set(key, holder)
    holder.requests += 1
    let [unfinished, held] = [isUnfinished ? 1 : 0, 0]
    holder.unfinished += unfinished
    const finish = () => {
      holder.unfinished -= unfinished
      unfinished = 0
    }
    return {
      take: (bytes) => {
        if (holder.bytes + bytes > freeBytes * SHARE) return false
        held += bytes
        holder.bytes += bytes
        freeBytes -= bytes
        return true
      },
      finish,
      release: () => {
        finish()
        holder.bytes -= held
        freeBytes += held
        holder.requests -= 1
        if (holder.requests === 0) holders.delete(key)
      },
    }
  }
}
