import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { crc32c } from './crc32c.ts'

function bitByBit(bytes: Uint8Array): number {
  let crc = -1
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
  }
  return ~crc >>> 0
}

it('crc32c returns the values of RFC 3720 (iSCSI)', () => {
  const ascending = Buffer.from(Array.from({ length: 32 }, (_, index) => index))
  expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa)
  expect(crc32c(Buffer.alloc(32, 255))).toBe(0x62a8ab43)
  expect(crc32c(ascending)).toBe(0x46dd794e)
  expect(crc32c(Buffer.from(ascending.toReversed()))).toBe(0x113fdb5c)
})

it('crc32c agrees with a bitwise computation for any number of bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(crc32c(Buffer.from(bytes))).toBe(bitByBit(bytes))
    }),
  )
})
