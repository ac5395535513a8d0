/** Returns the error for a malformed or oversized batch. */
export function badBatch(codec: string, problem: string): Error {
  return new RangeError(`${codec}: ${problem}`)
}

/** The output of a codec that copies from earlier output (LZ77). */
export interface Decompressed {
  /** Appends bytes `from` to `to` of the source. Throws if the source is shorter. */
  readonly append: (source: Buffer, from: number, to: number) => void
  /** Appends `length` bytes from `distance` bytes before the end. The copy may overlap its source. */
  readonly repeat: (distance: number, length: number) => void
  readonly bytes: () => Buffer
}

export function createDecompressed(codec: string, maxBytes: number): Decompressed {
  let buffer = Buffer.allocUnsafe(Math.min(maxBytes, 64 * 1024))
  let size = 0

  const makeRoom = (length: number): void => {
    if (size + length > maxBytes) throw badBatch(codec, `more than ${maxBytes} bytes`)
    if (size + length <= buffer.length) return
    const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(size + length, 2 * buffer.length)))
    buffer.copy(larger, 0, 0, size)
    buffer = larger
  }

  return {
    append: (source, from, to) => {
      if (to > source.length) throw badBatch(codec, 'ends early')
      makeRoom(to - from)
      size += source.copy(buffer, size, from, to)
    },
    repeat: (distance, length) => {
      if (distance === 0 || distance > size) throw badBatch(codec, 'a copy begins before the first byte')
      makeRoom(length)
      const [from, end] = [size - distance, size + length]
      while (size < end) size += buffer.copy(buffer, size, from, Math.min(size, from + end - size))
    },
    bytes: () => buffer.subarray(0, size),
  }
}
