const seed = 0x9747b28c
const multiplier = 0x5bd1e995

/** Which of `partitionCount` partitions a key's records go to, as in Kafka's Java client and kafkajs. */
export function partitionForKey(key: string, partitionCount: number): number {
  return (murmur2(Buffer.from(key)) & 0x7fffffff) % partitionCount
}

/** Austin Appleby's MurmurHash2, 32 bits, with the seed of Kafka's Java client. */
function murmur2(bytes: Buffer): number {
  const tailStart = bytes.length & ~3
  let hash = seed ^ bytes.length
  for (let at = 0; at < tailStart; at += 4) {
    let word = Math.imul(bytes.readInt32LE(at), multiplier)
    word = Math.imul(word ^ (word >>> 24), multiplier)
    hash = Math.imul(hash, multiplier) ^ word
  }
  if (tailStart < bytes.length) {
    hash = Math.imul(hash ^ bytes.readUIntLE(tailStart, bytes.length - tailStart), multiplier)
  }
  hash = Math.imul(hash ^ (hash >>> 13), multiplier)
  return hash ^ (hash >>> 15)
}
