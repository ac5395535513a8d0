const CONTINUES = 0x80
const LOW_BITS = 0x7f

/** Reads Kafka's types from a buffer, in sequence. Throws a RangeError at the end of the buffer. */
export class ByteReader {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  left(): number {
    return this.bytes.length - this.at
  }

  skip(bytes: number): void {
    if (bytes < 0 || bytes > this.left()) throw endsEarly()
    this.at += bytes
  }

  int8(): number {
    this.at += 1
    return this.bytes.readInt8(this.at - 1)
  }

  int16(): number {
    this.at += 2
    return this.bytes.readInt16BE(this.at - 2)
  }

  int32(): number {
    this.at += 4
    return this.bytes.readInt32BE(this.at - 4)
  }

  int64(): bigint {
    this.at += 8
    return this.bytes.readBigInt64BE(this.at - 8)
  }

  /** Reads a zigzag varint of up to 32 bits. */
  varint(): number {
    let raw = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = nextByte(this)
      raw |= (byte & LOW_BITS) << shift
      if (byte < CONTINUES) return (raw >>> 1) ^ -(raw & 1)
    }
    throw new RangeError('A varint has more than five bytes')
  }

  /** Reads a zigzag varint of up to 64 bits. */
  varlong(): bigint {
    let small = 0
    // Four bytes fit into 32 bits, and most deltas are that small.
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = nextByte(this)
      small |= (byte & LOW_BITS) << shift
      if (byte < CONTINUES) return BigInt((small >>> 1) ^ -(small & 1))
    }
    let raw = BigInt(small)
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = nextByte(this)
      raw |= BigInt(byte & LOW_BITS) << shift
      if (byte < CONTINUES) return BigInt.asIntN(64, (raw >> 1n) ^ -(raw & 1n))
    }
    throw new RangeError('A varint has more than ten bytes')
  }

  /** Returns a view of the next bytes; null for a negative length. */
  slice(length: number): Buffer | null {
    if (length < 0) return null
    this.skip(length)
    return this.bytes.subarray(this.at - length, this.at)
  }

  text(length: number): string {
    this.skip(length)
    return this.bytes.toString('utf8', this.at - length, this.at)
  }

  /** Reads a text after its length, which has two bytes. */
  string(): string {
    return this.text(this.int16())
  }

  /** Reads a list after its number of entries, which has four bytes. A negative number means null: an empty list. */
  list<Entry>(read: () => Entry): readonly Entry[] {
    const entries: Entry[] = []
    for (let left = this.int32(); left > 0; left -= 1) entries.push(read())
    return entries
  }
}

function nextByte(reader: ByteReader): number {
  const byte = reader.bytes[reader.at]
  if (byte === undefined) throw endsEarly()
  reader.at += 1
  return byte
}

function endsEarly(): Error {
  return new RangeError('The bytes end early')
}
