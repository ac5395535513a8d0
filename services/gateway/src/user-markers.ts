import { LRUCache } from 'lru-cache'

/** What this needs of Redis (ioredis fits). Commands are bounded by its own `commandTimeout`. */
export interface MarkerStore {
  readonly get: (key: string) => Promise<string | null>
  readonly set: (key: string, value: string, unit: 'EX', seconds: number) => Promise<unknown>
}

export interface UserMarkers {
  /** `unknown`: Redis could not be asked. */
  readonly look: (userId: string) => Promise<'marked' | 'unmarked' | 'unknown'>
  /** Resolves once other gateways can see it, or can't for now. Never rejects. */
  readonly mark: (userId: string) => Promise<void>
}

const MAX_IN_MEMORY = 200_000
const KEPT_SECONDS = 7 * 24 * 60 * 60

/** Which users are known to exist: a small memory here, and Redis for all gateways. May be emptied at any moment. */
export function createUserMarkers(redis: MarkerStore, keyPrefix: string): UserMarkers {
  const marked = new LRUCache<string, true>({ max: MAX_IN_MEMORY })
  const keyOf = (userId: string) => `${keyPrefix}user:${userId}`
  return {
    look: async (userId) => {
      if (marked.get(userId)) return 'marked'
      try {
        if ((await redis.get(keyOf(userId))) === null) return 'unmarked'
      } catch {
        return 'unknown'
      }
      marked.set(userId, true)
      return 'marked'
    },
    mark: async (userId) => {
      if (marked.get(userId)) return
      marked.set(userId, true)
      try {
        await redis.set(keyOf(userId), '1', 'EX', KEPT_SECONDS)
      } catch {
        // The user projector is asked instead.
      }
    },
  }
}
