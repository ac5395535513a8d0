import { describe, expect, it } from 'vitest'
import { escapeControls, readableBytes } from './readable-bytes.ts'

describe('readableBytes', () => {
  it.each([
    ['JSON', '{"a": 1}', { form: 'json', text: '{"a": 1}' }],
    ['broken JSON', '{"broken', { form: 'text', text: '{"broken' }],
    ['what would move a cursor', 'a\u001B[2J\nb\u0000', { form: 'text', text: String.raw`a\u001b[2J\u000ab\u0000` }],
    ['nothing', '', { form: 'text', text: '' }],
  ])('shows %s', (_, text, shown) => {
    expect(readableBytes(Buffer.from(text))).toEqual(shown)
  })

  it('shows what is no text as hex', () => {
    expect(readableBytes(Buffer.from([0, 255, 10]))).toEqual({ form: 'hex', text: '00ff0a' })
  })

  it('shows the beginning of a text that is cut within a character as text', () => {
    const bytes = Buffer.from('aé').subarray(0, 2)
    expect(readableBytes(bytes, true)).toEqual({ form: 'text', text: 'a' })
    expect(readableBytes(bytes)).toEqual({ form: 'hex', text: '61c3' })
  })

  it('escapes controls also outside ASCII', () => {
    expect(escapeControls('a\u009Fb')).toBe(String.raw`a\u009fb`)
  })
})
