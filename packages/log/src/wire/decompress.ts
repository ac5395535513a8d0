import { promisify } from 'node:util'
import { unzip, zstdDecompress } from 'node:zlib'
import { decompressLz4 } from './decompress-lz4.ts'
import { decompressSnappy } from './decompress-snappy.ts'

/** Maximum size of a decompressed batch. A topic takes 1 MiB of compressed records by default. */
const MAX_BYTES = 64 * 1024 * 1024
const LIMIT = { maxOutputLength: MAX_BYTES }

const [unzipped, zstdDecompressed] = [promisify(unzip), promisify(zstdDecompress)]

/** By their number in a batch's attributes. */
const CODECS: readonly ((compressed: Buffer) => Buffer | Promise<Buffer>)[] = [
  (records) => records,
  (compressed) => unzipped(compressed, LIMIT),
  (compressed) => decompressSnappy(compressed, MAX_BYTES),
  (compressed) => decompressLz4(compressed, MAX_BYTES),
  (compressed) => zstdDecompressed(compressed, LIMIT),
]

/**
 * Decompresses the records of a batch: gzip, Snappy, LZ4 or Zstandard. This package publishes nothing compressed, but a
 * topic's `compression.type` makes the broker compress, and other producers compress as they like.
 *
 * Throws, or rejects, where the bytes are not what the codec writes, and beyond 64 MiB.
 */
export function decompress(codec: number, compressed: Buffer): Buffer | Promise<Buffer> {
  const decompressed = CODECS[codec]
  if (!decompressed) throw new RangeError(`There is no codec ${codec}`)
  return decompressed(compressed)
}
