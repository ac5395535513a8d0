import { describe, expect, it } from 'vitest'
import { decompressLz4 } from './decompress-lz4.ts'
import { decompressSnappy } from './decompress-snappy.ts'

const MAX = 1_000
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const lz4Frame = (...blocks: readonly string[]) =>
  hex(['04224d18 60 40 82', ...blocks.map((block) => `${length(block)} ${block}`), '00000000'].join(''))
const length = (block: string) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(hex(block).length)
  return bytes.toString('hex')
}

describe('decompressLz4', () => {
  it.each([
    ['literals', lz4Frame('30 616263'), 'abc'],
    ['a match that runs into itself', lz4Frame('11 61 0100 10 62'), `${'a'.repeat(6)}b`],
    ['a long match', lz4Frame('1f 61 0100 0a 10 62'), `${'a'.repeat(30)}b`],
    ['two blocks', lz4Frame('30 616263', '30 646566'), 'abcdef'],
    ['two frames', Buffer.concat([lz4Frame('30 616263'), lz4Frame('30 646566')]), 'abcdef'],
    ['a block that is not compressed', hex('04224d18 60 40 82 03000080 616263 00000000'), 'abc'],
    [
      'checksums and a content size',
      hex('04224d18 7c 40 0300000000000000 82 04000000 30616263 aaaaaaaa 00000000 bbbbbbbb'),
      'abc',
    ],
  ])('decompresses %s', (_name, frame, text) => {
    expect(decompressLz4(frame, MAX).toString()).toBe(text)
  })

  it.each([
    ['other bytes', hex('000000000000000000')],
    ['a frame without an end', lz4Frame('30 616263').subarray(0, -4)],
    ['a truncated block', lz4Frame('30 616263').subarray(0, 13)],
    ['truncated literals', lz4Frame('50 616263')],
    ['a match from before the beginning', lz4Frame('11 61 0500 10 62')],
    ['a match at no distance', lz4Frame('11 61 0000 10 62')],
    ['more than the maximum size', lz4Frame(`1f 61 0100 ${'ff'.repeat(5)}00 10 62`)],
  ])('refuses %s', (_name, frame) => {
    expect(() => decompressLz4(frame, MAX)).toThrow(RangeError)
  })
})

describe('decompressSnappy', () => {
  const FRAMING = '82534e41505059 00 00000001 00000001'
  it.each([
    ['literals', hex('03 08 616263'), 'abc'],
    ['a long literal', hex(`50 f0 4f ${'61'.repeat(80)}`), 'a'.repeat(80)],
    ['a near copy', hex('06 00 61 01 01 00 62'), `${'a'.repeat(5)}b`],
    ['a copy that runs into itself', hex('0a 04 6162 1e 0200'), 'ab'.repeat(5)],
    ['a far copy', hex('06 08 616263 0b 03000000'), 'abcabc'],
    ['framed blocks', hex(`${FRAMING} 00000005 03 08 616263 00000003 01 00 64`), 'abcd'],
  ])('decompresses %s', (_name, block, text) => {
    expect(decompressSnappy(block, MAX).toString()).toBe(text)
  })

  it.each([
    ['an empty block', hex('')],
    ['a truncated literal', hex('03 08 6162')],
    ['fewer bytes than declared', hex('05 08 616263')],
    ['a length without an end', hex('ffffff')],
    ['a copy from before the beginning', hex('07 00 61 01 05')],
    ['a copy at no distance', hex('07 00 61 01 00')],
    ['a truncated framed block', hex(`${FRAMING} 00000009 03 08 616263`)],
    ['more than the maximum size', hex(`e807 00 61 ${'fe0100'.repeat(20)}`)],
  ])('refuses %s', (_name, block) => {
    expect(() => decompressSnappy(block, MAX)).toThrow(RangeError)
  })
})
