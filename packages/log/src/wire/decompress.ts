import { promisify } from 'node:util'
import { unzip, zstdDecompress } from 'node:zlib'
import { decompressLz4 } from './decompress-lz4.ts'
import { decompressSnappy } from './decompress-snappy.ts'

/** Maximum size of a decompressed batch. A topic takes 1 MiB of compressed records by default. */
const MAX_BYTES = 16 * 1024 * 1024
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

let last: Promise<unknown> = Promise.resolve()

/**
 * Decompresses the records of a batch: gzip, Snappy, LZ4 or Zstandard. This package publishes uncompressed batches, but a
 * topic's `compression.type` and other producers may compress them. Rejects if the bytes are malformed, and beyond 16 MiB.
 * The batches of a process are decompressed one after the other, because each may need that much memory.
 */
export function decompress(codec: number, compressed: Buffer): Promise<Buffer> {
  const own = last.then(() => decompressNow(codec, compressed))
  last = own.then(nothing, nothing) // without the bytes
  return own
}

function nothing(): void {}

async function decompressNow(codec: number, compressed: Buffer): Promise<Buffer> {
  const decompressed = CODECS[codec]
  if (!decompressed) throw new RangeError(`there is no codec ${codec}`)
  try {
    return await decompressed(compressed)
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    throw isTooLarge ? new RangeError(`it has more than ${MAX_BYTES} bytes once it is decompressed`) : error
  }
}
