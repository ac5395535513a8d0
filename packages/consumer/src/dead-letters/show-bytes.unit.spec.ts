import { describe, expect, it } from 'vitest'
import { escapeControls, showBytes } from './show-bytes.ts'

describe('showBytes', () => {
  it.each([
    ['JSON', '{"a": 1}', { form: 'json', text: '{"a": 1}' }],
    ['broken JSON', '{"broken', { form: 'text', text: '{"broken' }],
    ['cursor movements', 'a\u001B[2J\nb\u0000', { form: 'text', text: String.raw`a\u001b[2J\u000ab\u0000` }],
    ['no bytes', '', { form: 'text', text: '' }],
  ])('shows %s', (_, text, shown) => {
    expect(showBytes(Buffer.from(text))).toEqual({ ...shown, isCut: false })
  })

  it('shows bytes that are not text as hex', () => {
    expect(showBytes(Buffer.from([0, 255, 10]))).toEqual({ form: 'hex', text: '00ff0a', isCut: false })
  })

  it('shows the beginning of a text that is cut within a character as text', () => {
    const bytes = Buffer.from('aé').subarray(0, 2)
    expect(showBytes(bytes, true)).toEqual({ form: 'text', text: 'a', isCut: true })
    expect(showBytes(bytes)).toEqual({ form: 'hex', text: '61c3', isCut: false })
  })

  it('escapes control characters outside ASCII, too', () => {
    expect(escapeControls('a\u009Fb')).toBe(String.raw`a\u009fb`)
  })
})
