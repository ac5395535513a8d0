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

export function createSavedOffer(offer: Offer): SavedOffer {
  const key = PREFIX + offer.offerId
  return {
    read: () => {
      const saved = parseSaved(attempt((storage) => storage.getItem(key)) ?? memory.get(key))
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

/** Returns the offers that this tab showed before a reload, and that are neither finished nor dismissed. */
export function unfinishedOffers(): readonly Offer[] {
  const keys = attempt((storage) => Object.keys(storage)) ?? []
  return keys
    .filter((key) => key.startsWith(PREFIX))
    .flatMap((key) => parseSaved(attempt((storage) => storage.getItem(key)))?.offer ?? [])
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
