import { badBatch, createDecompressed, type Decompressed } from './decompressed.ts'

const CODEC = 'Snappy'
/** Header of snappy-java's framing, which Kafka's own clients write: a magic of 8 bytes and two versions. */
const FRAMING = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
const FRAMING_BYTES = 16
/** A byte of a varint of at least this value is followed by another. */
const CONTINUES = 0x80

/**
 * Decompresses raw Snappy (format_description.txt), or length-prefixed blocks of it in the framing of snappy-java. Throws a
 * RangeError for other input.
 */
export function decompressSnappy(source: Buffer, maxBytes: number): Buffer {
  const out = createDecompressed(CODEC, maxBytes)
  if (!source.subarray(0, FRAMING.length).equals(FRAMING)) {
    readBlock(source, out)
    return out.bytes()
  }
  for (let at = FRAMING_BYTES; at < source.length; ) {
    const length = source.readInt32BE(at)
    const end = at + 4 + length
    if (length < 0 || end > source.length) throw badBatch(CODEC, 'ends early')
    readBlock(source.subarray(at + 4, end), out)
    at = end
  }
  return out.bytes()
}

function readBlock(source: Buffer, out: Decompressed): void {
  const before = out.bytes().length
  let [at, declared] = [0, 0]
  // The size of the decompressed block, a varint.
  for (let byte = CONTINUES; byte >= CONTINUES; at += 1) {
    byte = source.readUInt8(at)
    declared += (byte % CONTINUES) * CONTINUES ** at
  }
  while (at < source.length) {
    const tag = source.readUInt8(at)
    at += 1
    const kind = tag & 0b11
    if (kind === 0) {
      const extra = Math.max(0, (tag >> 2) - 59) // the next 1 to 4 bytes are a length above 60
      const length = (extra === 0 ? tag >> 2 : source.readUIntLE(at, extra)) + 1
      at += extra
      out.append(source, at, at + length)
      at += length
    } else if (kind === 1) {
      out.repeat(((tag >> 5) << 8) | source.readUInt8(at), ((tag >> 2) & 0b111) + 4)
      at += 1
    } else {
      const width = kind === 2 ? 2 : 4
      out.repeat(source.readUIntLE(at, width), (tag >> 2) + 1)
      at += width
    }
  }
  if (out.bytes().length - before !== declared) throw badBatch(CODEC, 'the block has another size than declared')
}
