/** Castagnoli's polynomial, bit-reversed. */
const POLYNOMIAL = 0x82f63b78

/** Four concatenated tables: the contribution of a byte that is followed by 0, 1, 2 or 3 more bytes. */
const TABLES = createTables()

/** Returns the CRC-32C of bytes (slicing-by-4). Node's `zlib.crc32` has another polynomial. */
export function crc32c(bytes: Buffer): number {
  const end = bytes.length
  let crc = -1
  let at = 0
  for (; at + 4 <= end; at += 4) {
    crc ^= bytes.readInt32LE(at)
    crc = after(3, crc) ^ after(2, crc >>> 8) ^ after(1, crc >>> 16) ^ after(0, crc >>> 24)
  }
  for (; at < end; at += 1) crc = after(0, crc ^ bytes.readUInt8(at)) ^ (crc >>> 8)
  return ~crc >>> 0
}

/** Returns the contribution of the lowest byte of `crc`, which is followed by this many bytes. */
function after(following: number, crc: number): number {
  return TABLES[following * 256 + (crc & 255)] ?? 0
}

function createTables(): Int32Array {
  const tables = new Int32Array(4 * 256)
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? POLYNOMIAL : 0)
    tables[byte] = crc
  }
  for (let at = 256; at < tables.length; at += 1) {
    const before = tables[at - 256] ?? 0
    tables[at] = (tables[before & 255] ?? 0) ^ (before >>> 8)
  }
  return tables
}
