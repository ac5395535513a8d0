/** Several maps, because a Map holds at most 16 million entries. */
const MAPS = 256

/** Counts how often each identity (hex) has occurred before. Uses about 100 bytes of memory per identity. */
export function createOrdinals(): (identity: string) => number {
  const maps = Array.from({ length: MAPS }, () => new Map<string, number>())
  return (identity) => {
    const map = maps[Number.parseInt(identity.slice(0, 2), 16)] as Map<string, number>
    // 120 bits (15 bytes of memory) are enough to distinguish lines.
    const key = Buffer.from(identity.slice(2, 32), 'hex').toString('latin1')
    const ordinal = map.get(key) ?? 0
    map.set(key, ordinal + 1)
    return ordinal
  }
}
