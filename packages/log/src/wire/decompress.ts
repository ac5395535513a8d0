import { promisify } from 'node:util'
import { unzip, zstdDecompress } from 'node:zlib'
import { decompressLz4 } from './decompress-lz4.ts'
import { decompressSnappy } from './decompress-snappy.ts'

/** Maximum size of a decompressed batch. A topic takes 1 MiB of compressed records by default. */
const MAX_BYTES = 64 * 1024 * 1024
const LIMIT = { maxOutputLength: MAX_BYTES }

const [unzipped, zstdDecompressed] = [promisify(unzip), promisify(zstdDecompress)]

/** The codecs, indexed by their number in a batch's attributes. */
const CODECS: readonly ((compressed: Buffer) => Buffer | Promise<Buffer>)[] = [
  (records) => records,
  (compressed) => unzipped(compressed, LIMIT),
  (compressed) => decompressSnappy(compressed, MAX_BYTES),
  (compressed) => decompressLz4(compressed, MAX_BYTES),
  (compressed) => zstdDecompressed(compressed, LIMIT),
]

/**
 * Decompresses the records of a batch: gzip, Snappy, LZ4 or Zstandard. This package publishes uncompressed batches, but a
 * topic's `compression.type` and other producers may compress them. Throws or rejects if the bytes are malformed, and beyond
 * 64 MiB.
 */
export function decompress(codec: number, compressed: Buffer): Buffer | Promise<Buffer> {
  const decompressed = CODECS[codec]
  if (!decompressed) throw new RangeError(`There is no codec ${codec}`)
  return decompressed(compressed)
}
