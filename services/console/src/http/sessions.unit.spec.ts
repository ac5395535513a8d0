import { describe, expect, it } from 'vitest'
import type { Role } from './define-route.ts'
import { createSessions, SESSION_MS } from './sessions.ts'

const HOST = 'localhost:8081'

/** Sessions, and a person who opens and uses them. */
function givenSessions() {
  const clock = { nowMs: 0 }
  const sessions = createSessions(() => clock.nowMs)
  const open = (role: Role, address = '10.0.0.1') => sessions.open(role, { name: 'Ada', host: HOST, address })
  const openMany = (count: number, role: Role, address?: string) =>
    Array.from({ length: count }, () => open(role, address))
  const isOpen = ({ id }: { readonly id: string }) => sessions.find(id, HOST) !== undefined
  return { clock, sessions, open, openMany, isOpen }
}

describe('createSessions', () => {
  it('finds a session until it expires or is closed', () => {
    const { clock, sessions, open } = givenSessions()
    const [one, other] = [open('viewer'), open('operator')]
    expect(sessions.find(one.id, HOST)).toBe(one)
    expect(sessions.find('another', HOST)).toBeUndefined()
    expect(sessions.find(undefined, HOST)).toBeUndefined()
    sessions.close(one.id)
    expect(sessions.find(one.id, HOST)).toBeUndefined()
    clock.nowMs = SESSION_MS
    expect(sessions.find(other.id, HOST)).toBeUndefined()
  })

  it('finds a session only at the host where it was opened', () => {
    const { sessions, open, isOpen } = givenSessions()
    const session = open('operator')
    expect(sessions.find(session.id, 'localhost:9000')).toBeUndefined()
    expect(isOpen(session)).toBe(true)
  })

  it('remembers the latest thousand revealed names of a session', () => {
    const { revealed } = givenSessions().open('viewer')
    for (let id = 0; id < 1_000; id += 1) revealed.add(`user ${id}`)
    revealed.add('user 0')
    revealed.add('user 1000')
    expect(['user 0', 'user 1', 'user 2', 'user 1000'].map(revealed.has)).toEqual([true, false, true, true])
  })

  it('keeps two hundred sessions of each role, those used last', () => {
    const { open, openMany, isOpen } = givenSessions()
    const [used, unused] = [open('viewer'), open('viewer')]
    openMany(198, 'viewer')
    expect(isOpen(used)).toBe(true)
    open('viewer')
    expect([used, unused].map(isOpen)).toEqual([true, false])
  })

  it('ends no session of an operator, however often a viewer signs in', () => {
    const { open, openMany, isOpen } = givenSessions()
    const operator = open('operator')
    openMany(1_000, 'viewer')
    expect(isOpen(operator)).toBe(true)
  })

  it('ends sessions of the address that signs in very often, and of no other', () => {
    const { openMany, isOpen } = givenSessions()
    const others = openMany(20, 'viewer', '10.0.0.2')
    const flood = openMany(1_000, 'viewer', '10.0.0.3')
    expect(others.every(isOpen)).toBe(true)
    expect(flood.filter(isOpen)).toHaveLength(180)
  })
})
