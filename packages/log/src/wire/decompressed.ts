/** A batch that is not what its codec writes, or that is larger than it may be. */
export function badBatch(codec: string, what: string): Error {
  return new RangeError(`${codec}: ${what}`)
}

/** The bytes of a batch, as they come out of a codec that copies from what came before. */
export interface Decompressed {
  /** Appends bytes `from` to `to` of the source, which must have them. */
  readonly append: (source: Buffer, from: number, to: number) => void
  /** Appends `length` bytes that begin `distance` bytes before the end; they may run into themselves. */
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
      if (distance === 0 || distance > size) throw badBatch(codec, 'repeats what is not there')
      makeRoom(length)
      const [from, end] = [size - distance, size + length]
      while (size < end) size += buffer.copy(buffer, size, from, Math.min(size, from + end - size))
    },
    bytes: () => buffer.subarray(0, size),
  }
}
