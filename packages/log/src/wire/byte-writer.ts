/** Writes Kafka's types into a buffer of a fixed size. Throws a RangeError at the end of the buffer. */
export class ByteWriter {
  readonly bytes: Buffer
  at = 0

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size)
  }

  int8(value: number): this {
    this.at = this.bytes.writeInt8(value, this.at)
    return this
  }

  int16(value: number): this {
    this.at = this.bytes.writeInt16BE(value, this.at)
    return this
  }

  int32(value: number): this {
    this.at = this.bytes.writeInt32BE(value, this.at)
    return this
  }

  int64(value: bigint): this {
    this.at = this.bytes.writeBigInt64BE(value, this.at)
    return this
  }

  /** Writes an ASCII text after its length, which has two bytes. */
  string(text: string): this {
    this.int16(text.length)
    this.at += this.bytes.write(text, this.at, 'latin1')
    return this
  }

  /** Writes a 32-bit number as a zigzag varint. */
  varint(value: number): this {
    let raw = zigzag(value)
    for (; raw > LOW_BITS; raw >>>= 7) this.bytes[this.at++] = (raw & LOW_BITS) | CONTINUES
    this.bytes[this.at++] = raw
    return this
  }

  /** Writes a text, or null, after its size in UTF-8 bytes, which is a varint. The size of null is -1. */
  text(text: string | null, size: number): this {
    this.varint(size)
    if (text === null || size === 0) return this
    if (size > this.bytes.length - this.at) throw new RangeError('The text is longer than the rest of the buffer')
    // With as many bytes as characters, the text is ASCII and needs no conversion.
    this.at += this.bytes.write(text, this.at, size, size === text.length ? 'latin1' : 'utf8')
    return this
  }
}

const CONTINUES = 0x80
const LOW_BITS = 0x7f

/** Returns the size in bytes of a 32-bit number as a zigzag varint. */
export function varintSize(value: number): number {
  let size = 1
  for (let raw = zigzag(value); raw > LOW_BITS; raw >>>= 7) size += 1
  return size
}

function zigzag(value: number): number {
  return ((value << 1) ^ (value >> 31)) >>> 0
}
