import { promisify } from 'node:util'
import { unzip, zstdDecompress } from 'node:zlib'
import kafkajs from 'kafkajs'
import { decompressLz4 } from './decompress-lz4.ts'
import { decompressSnappy } from './decompress-snappy.ts'

const { CompressionCodecs, CompressionTypes } = kafkajs
const [unzipped, zstdDecompressed] = [promisify(unzip), promisify(zstdDecompress)]

/** Of a batch. A topic takes 1 MiB of compressed records as Kafka is delivered. */
const maxBytes = 64 * 1024 * 1024
const limit = { maxOutputLength: maxBytes }

/** Ours are never compressed. */
const compress = (): never => {
  throw new Error('This package publishes nothing compressed')
}

const codecOf = (decompress: (compressed: Buffer) => Promise<Buffer>) => () => ({ compress, decompress })

/**
 * What this package publishes is not compressed. But a topic's `compression.type` makes the broker compress it, and other
 * producers compress as they like. kafkajs knows gzip only, and ends a consumer for good that meets another codec.
 */
export function readEveryCompression(): void {
  CompressionCodecs[CompressionTypes.GZIP] = codecOf((compressed) => unzipped(compressed, limit))
  CompressionCodecs[CompressionTypes.Snappy] = codecOf(async (compressed) => decompressSnappy(compressed, maxBytes))
  CompressionCodecs[CompressionTypes.LZ4] = codecOf(async (compressed) => decompressLz4(compressed, maxBytes))
  CompressionCodecs[CompressionTypes.ZSTD] = codecOf((compressed) => zstdDecompressed(compressed, limit))
}
