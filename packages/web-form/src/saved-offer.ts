import type { Answers, Offer } from '@nextvisit/contracts/shown-form'

const PREFIX = 'nextvisit-form:'

/** Values that `sessionStorage` refused, because it is blocked or full. They last as long as the page. */
const memory = new Map<string, string>()

/** An offer that is not ended, with its answers so far. It survives a reload. Operations never fail. */
export interface SavedOffer {
  /** Returns the answers to this revision. */
  readonly read: () => Answers
  readonly write: (answers: Answers) => void
  readonly remove: () => void
}

/** Creates access to the value of an offer. `scope`: of the user; empty if the page does not tell users apart. */
export function createSavedOffer(offer: Offer, scope = ''): SavedOffer {
  const key = PREFIX + scope + offer.offerId
  return {
    read: () => {
      const saved = parseSaved(read(key))
      return (saved?.offer.revision === offer.revision && saved?.answers) || {}
    },
    write: (answers) => {
      const value = JSON.stringify({ offer, answers })
      const isKept = attempt((storage) => {
        storage.setItem(key, value)
        return true
      })
      if (!isKept) memory.set(key, value)
    },
    remove: () => {
      attempt((storage) => storage.removeItem(key))
      memory.delete(key)
    },
  }
}

/**
 * Returns the offers that this tab showed before a reload, and that are neither finished nor dismissed. `scope`: that of the
 * client, for offers shown through a client.
 */
export function unfinishedOffers(scope = ''): readonly Offer[] {
  const keys = [...memory.keys(), ...(attempt((storage) => Object.keys(storage)) ?? [])]
  const offers = keys
    .filter((key) => key.startsWith(PREFIX + scope))
    .map((key) => [key, parseSaved(read(key))?.offer] as const)
  // The offers of another scope may begin like these.
  return offers.flatMap(([key, offer]) => (offer && key === PREFIX + scope + offer.offerId ? offer : []))
}

function read(key: string): string | null | undefined {
  return attempt((storage) => storage.getItem(key)) ?? memory.get(key)
}

interface Saved {
  readonly offer: Offer
  readonly answers?: Answers
}

function parseSaved(json: string | null | undefined): Saved | undefined {
  try {
    const saved = JSON.parse(json ?? 'null') as Partial<Saved> | null
    return saved?.offer ? (saved as Saved) : undefined
  } catch {
    return undefined
  }
}

function attempt<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(sessionStorage)
  } catch {
    return undefined
  }
}
