/** Writes Kafka's types into a buffer whose size is known before. Throws a RangeError beyond it. */
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

  /** An ASCII text behind its length in two bytes. */
  string(text: string): this {
    this.int16(text.length)
    this.at += this.bytes.write(text, this.at, 'latin1')
    return this
  }
}
