/** One for each first byte of a key. */
const SHARDS = 256

/**
 * Creates maps or sets that together hold more entries than one can: 16 million. Returns the one that holds a key, which
 * begins with a byte in hex.
 */
export function createShards<Collection>(create: () => Collection): (key: string) => Collection {
  const shards = Array.from({ length: SHARDS }, create)
  return (key) => shards[Number.parseInt(key.slice(0, 2), 16)] as Collection
}
