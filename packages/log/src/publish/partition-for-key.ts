const SEED = 0x9747b28c
const MULTIPLIER = 0x5bd1e995

/** Returns the partition of a key's records, as Kafka's Java client and kafkajs do. */
export function partitionForKey(key: string, partitionCount: number): number {
  return (murmur2(Buffer.from(key)) & 0x7fffffff) % partitionCount
}

/** Austin Appleby's MurmurHash2, 32 bits, with the seed of Kafka's Java client. */
function murmur2(bytes: Buffer): number {
  const tailStart = bytes.length & ~3
  let hash = SEED ^ bytes.length
  for (let at = 0; at < tailStart; at += 4) {
    let word = Math.imul(bytes.readInt32LE(at), MULTIPLIER)
    word = Math.imul(word ^ (word >>> 24), MULTIPLIER)
    hash = Math.imul(hash, MULTIPLIER) ^ word
  }
  if (tailStart < bytes.length) {
    hash = Math.imul(hash ^ bytes.readUIntLE(tailStart, bytes.length - tailStart), MULTIPLIER)
  }
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER)
  return hash ^ (hash >>> 15)
}
