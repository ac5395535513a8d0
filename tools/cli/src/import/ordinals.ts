/** More than one map, since one takes only 16 million entries. */
const MAPS = 256

/** How often each identity (hex) has come before. About 100 bytes of memory an identity. */
export function createOrdinals(): (identity: string) => number {
  const maps = Array.from({ length: MAPS }, () => new Map<string, number>())
  return (identity) => {
    const map = maps[Number.parseInt(identity.slice(0, 2), 16)] as Map<string, number>
    // 120 bits tell lines apart, in 15 bytes of memory.
    const key = Buffer.from(identity.slice(2, 32), 'hex').toString('latin1')
    const ordinal = map.get(key) ?? 0
    map.set(key, ordinal + 1)
    return ordinal
  }
}
