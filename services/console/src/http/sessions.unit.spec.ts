import { describe, expect, it } from 'vitest'
import { createSessions, SESSION_MS } from './sessions.ts'

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

  it('remembers the latest thousand revealed names of a session', () => {
    const { revealed } = createSessions(() => 0).open('viewer', '')
    for (let id = 0; id < 1_000; id += 1) revealed.add(`user ${id}`)
    revealed.add('user 0')
    revealed.add('user 1000')
    expect(['user 0', 'user 1', 'user 2', 'user 1000'].map(revealed.has)).toEqual([true, false, true, true])
  })

  it('keeps the latest thousand sessions', () => {
    const sessions = createSessions(() => 0)
    const first = sessions.open('viewer', '')
    for (let count = 0; count < 1_000; count += 1) sessions.open('viewer', '')
    expect(sessions.find(first.id)).toBeUndefined()
  })
})
