import { badBatch, createDecompressed, type Decompressed } from './decompressed.ts'

const CODEC = 'LZ4'
const MAGIC = 0x184d2204
const VERSION = 0b01
const SHORTEST_MATCH = 4
/** A length of this value continues in the next bytes. */
const CONTINUES = 15

/**
 * Decompresses LZ4 frames (lz4_Frame_format.md, without dictionaries). Ignores checksums, because the broker
 * has verified the batch's. Throws a RangeError for other input.
 */
export function decompressLz4(source: Buffer, maxBytes: number): Buffer {
  const out = createDecompressed(CODEC, maxBytes)
  let at = 0
  while (at < source.length) at = readFrame(source, at, out)
  return out.bytes()
}

/** Returns the end of the frame. */
function readFrame(source: Buffer, start: number, out: Decompressed): number {
  if (source.readUInt32LE(start) !== MAGIC) throw badBatch(CODEC, 'no frame')
  const flags = source.readUInt8(start + 4)
  const has = (bit: number) => (flags & (1 << bit)) !== 0
  if (flags >> 6 !== VERSION || has(0)) throw badBatch(CODEC, 'a frame of another version, or with a dictionary')
  let at = start + 7 + (has(3) ? 8 : 0) // magic, flags, block size and header checksum; content size
  for (;;) {
    const word = source.readUInt32LE(at)
    at += 4
    if (word === 0) return at + (has(2) ? 4 : 0) // content checksum
    const isCompressed = word >>> 31 === 0
    const end = at + (word & 0x7fffffff)
    if (end > source.length) throw badBatch(CODEC, 'ends early')
    if (isCompressed) readBlock(source.subarray(0, end), at, out)
    else out.append(source, at, end)
    at = end + (has(4) ? 4 : 0) // block checksum
  }
}

/** Reads a block that ends with the source. */
function readBlock(source: Buffer, start: number, out: Decompressed): void {
  let at = start
  const lengthFrom = (nibble: number): number => {
    if (nibble < CONTINUES) return nibble
    let [length, byte] = [nibble, 255]
    while (byte === 255) {
      byte = source.readUInt8(at)
      length += byte
      at += 1
    }
    return length
  }
  while (at < source.length) {
    const token = source.readUInt8(at)
    at += 1
    const literals = lengthFrom(token >> 4)
    out.append(source, at, at + literals)
    at += literals
    if (at === source.length) return // the last sequence has no match
    const distance = source.readUInt16LE(at)
    at += 2
    out.repeat(distance, lengthFrom(token & 0x0f) + SHORTEST_MATCH)
  }
}
