import { LRUCache } from 'lru-cache'
import { createKeyBucket, type KeyBucket } from './key-bucket.ts'
import type { RateLimiter } from './rate-limiter.ts'
import { createSharedBuckets, type SharedBucketsOptions } from './shared-buckets.ts'

const MAX_KEYS = 10_000

/** Token buckets that all gateways share through Redis, each key's its own. */
export function createSharedRateLimiter(options: SharedBucketsOptions): RateLimiter {
  const shared = createSharedBuckets(options)
  const buckets = new LRUCache<string, KeyBucket>({ max: MAX_KEYS })
  return {
    take: (keyHash, limit) => {
      const known = buckets.get(keyHash)
      if (known) return known.take(limit)
      const bucket = createKeyBucket(keyHash, shared, options.nowMs)
      buckets.set(keyHash, bucket)
      return bucket.take(limit)
    },
  }
}
