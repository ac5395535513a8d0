import { describe, expect, it } from 'vitest'
import { createTokenCheck } from './check-token.ts'

const tokens = { operator: 'operator-token-1234', viewer: 'viewer-token-12345' }

describe('createTokenCheck', () => {
  it('returns the role that a token gives', () => {
    const check = createTokenCheck(tokens, () => 0)
    expect(check(tokens.operator)).toEqual({ outcome: 'accepted', role: 'operator' })
    expect(check(tokens.viewer)).toEqual({ outcome: 'accepted', role: 'viewer' })
    for (const wrong of ['', 'operator-token-123', 'undefined']) expect(check(wrong).outcome).toBe('refused')
  })

  it('accepts no viewer without a token for viewers', () => {
    const check = createTokenCheck({ ...tokens, viewer: undefined }, () => 0)
    expect(check('undefined').outcome).toBe('refused')
  })

  it('accepts a valid token despite many wrong ones, which are limited to ten a minute', () => {
    let nowMs = 0
    const check = createTokenCheck(tokens, () => nowMs)
    for (let count = 0; count < 10; count += 1) expect(check('wrong').outcome).toBe('refused')
    expect(check('wrong')).toEqual({ outcome: 'too-many', retryAfterSeconds: 60 })
    expect(check(tokens.operator)).toEqual({ outcome: 'accepted', role: 'operator' })
    expect(check(tokens.viewer)).toEqual({ outcome: 'accepted', role: 'viewer' })
    nowMs = 60_001
    expect(check('wrong').outcome).toBe('refused')
  })
})
