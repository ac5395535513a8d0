import { describe, expect, it } from 'vitest'
import { createTokenCheck } from './check-token.ts'
import { createSessions, SESSION_MS } from '../http/sessions.ts'

const tokens = { operator: 'operator-token-1234', viewer: 'viewer-token-12345' }

describe('createTokenCheck', () => {
  it('returns the role that a token gives', () => {
    const check = createTokenCheck({ tokens, nowMs: () => 0 })
    expect(check(tokens.operator)).toEqual({ outcome: 'accepted', role: 'operator' })
    expect(check(tokens.viewer)).toEqual({ outcome: 'accepted', role: 'viewer' })
    for (const wrong of ['', 'operator-token-123', 'undefined']) expect(check(wrong).outcome).toBe('refused')
  })

  it('has no viewers without a token for them', () => {
    const check = createTokenCheck({ tokens: { ...tokens, viewer: undefined }, nowMs: () => 0 })
    expect(check('undefined').outcome).toBe('refused')
  })

  it('accepts a valid token despite many wrong ones, which are limited to ten a minute', () => {
    let nowMs = 0
    const check = createTokenCheck({ tokens, nowMs: () => nowMs })
    for (let count = 0; count < 10; count += 1) expect(check('wrong').outcome).toBe('refused')
    expect(check('wrong')).toEqual({ outcome: 'too-many', retryAfterSeconds: 60 })
    expect(check(tokens.operator)).toEqual({ outcome: 'accepted', role: 'operator' })
    expect(check(tokens.viewer)).toEqual({ outcome: 'accepted', role: 'viewer' })
    nowMs = 60_001
    expect(check('wrong').outcome).toBe('refused')
  })
})

describe('createSessions', () => {
  it('finds a session until it expires or is closed', () => {
    let nowMs = 0
    const sessions = createSessions(() => nowMs)
    const [one, other] = [sessions.open('viewer', 'Ada'), sessions.open('operator', 'Bob')]
    expect(sessions.find(one.id)).toBe(one)
    expect(sessions.find('another')).toBeUndefined()
    expect(sessions.find(undefined)).toBeUndefined()
    sessions.close(one.id)
    expect(sessions.find(one.id)).toBeUndefined()
    nowMs = SESSION_MS
    expect(sessions.find(other.id)).toBeUndefined()
  })

  it('remembers the latest thousand revealed names', () => {
    const { revealed } = createSessions(() => 0).open('viewer', '')
    for (let id = 0; id < 1_000; id += 1) revealed.add(`user ${id}`)
    revealed.add('user 0')
    revealed.add('user 1000')
    expect(['user 0', 'user 1', 'user 2', 'user 1000'].map(revealed.has)).toEqual([true, false, true, true])
  })

  it('keeps the latest thousand', () => {
    const sessions = createSessions(() => 0)
    const first = sessions.open('viewer', '')
    for (let count = 0; count < 1_000; count += 1) sessions.open('viewer', '')
    expect(sessions.find(first.id)).toBeUndefined()
  })
})
