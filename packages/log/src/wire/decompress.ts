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
 * The batches of a process are decompressed one after the other, because each may need that much memory. Bytes that
 * {@link keepDecompressed} has kept are returned at once.
 */
export function decompress(codec: number, compressed: Buffer): Promise<Buffer> {
  const found = kept.get(compressed)
  if (found) {
    found.usedAt = decompressions
    return Promise.resolve(found.bytes)
  }
  const own = last.then(() => decompressNow(codec, compressed))
  last = own.then(nothing, nothing) // without the bytes
  return own
}

interface Kept {
  readonly bytes: Buffer
  /** The number of the last decompression before it was used. */
  usedAt: number
}

/** Two batches of the maximum size, or many of the usual size. */
const MAX_KEPT_BYTES = 2 * MAX_BYTES
/** Bytes that were not used during so many decompressions belong to a reader that waits, and give way to others. */
const MAX_IDLE_DECOMPRESSIONS = 300

const kept = new Map<Buffer, Kept>()
let decompressions = 0

/**
 * Keeps the decompressed bytes of a batch until {@link dropDecompressed}, if there is room. The batches that are kept do not
 * give way to one that is used as often: batches in turn would only replace each other.
 */
export function keepDecompressed(compressed: Buffer, bytes: Buffer): void {
  if (kept.has(compressed)) return
  for (const [key, { usedAt }] of kept) if (decompressions - usedAt > MAX_IDLE_DECOMPRESSIONS) kept.delete(key)
  let total = bytes.buffer.byteLength
  for (const one of kept.values()) total += one.bytes.buffer.byteLength
  if (total <= MAX_KEPT_BYTES) kept.set(compressed, { bytes, usedAt: decompressions })
}

/** Call it once no other part of the batch will be decoded. */
export function dropDecompressed(compressed: Buffer): void {
  kept.delete(compressed)
}

function nothing(): void {}

async function decompressNow(codec: number, compressed: Buffer): Promise<Buffer> {
  const decompressed = CODECS[codec]
  if (!decompressed) throw new RangeError(`there is no codec ${codec}`)
  decompressions += 1
  try {
    return await decompressed(compressed)
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    throw isTooLarge ? new RangeError(`it has more than ${MAX_BYTES} bytes once it is decompressed`) : error
  }
}
