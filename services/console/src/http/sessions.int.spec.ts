import { randomUUID } from 'node:crypto'
import { createLogger } from '@nextvisit/service-kit'
import { until } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { givenSessions } from '../../test/given-sessions.ts'
import type { Role } from './define-route.ts'
import { IDLE_MS, NoSessionsError, type Session, type Sessions, TOKEN_SESSION_MS } from './sessions.ts'

const HOST = 'localhost:8081'

const openIn =
  (sessions: Sessions) =>
  (role: Role, address = '10.0.0.1') =>
    sessions.open({
      role,
      name: 'Ada',
      isVerified: true,
      subject: 'ada-1',
      host: HOST,
      address,
      lastsMs: TOKEN_SESSION_MS,
    })

/** Two consoles with the same Redis, and a person who opens and uses sessions of the first. */
async function givenConsoles() {
  const clock = { nowMs: 1_000_000 }
  const nowMs = () => (clock.nowMs += 1)
  const one = await givenSessions({ nowMs })
  const { sessions, redis, keyPrefix } = one
  const { sessions: other } = await givenSessions({ nowMs, keyPrefix })
  const open = openIn(sessions)
  const isOpen = async ({ id }: Pick<Session, 'id'>, at = sessions) => (await at.find(id, HOST)) !== undefined
  const openMany = (count: number, role: Role, address?: string) =>
    Promise.all(Array.from({ length: count }, () => open(role, address)))
  const openOf = async (opened: readonly Session[]) => {
    const found = await Promise.all(opened.map((session) => isOpen(session)))
    return found.filter((isFound) => isFound).length
  }
  return { clock, sessions, other, redis, keyPrefix, open, openMany, isOpen, openOf }
}

describe('createSessions', () => {
  it('lets every console find a session, until one of them closes it or it expires', async () => {
    const { clock, sessions, other, open, isOpen } = await givenConsoles()
    const [one, two] = [await open('viewer'), await open('operator')]
    expect(await other.find(two.id, HOST)).toMatchObject({ role: 'operator', name: 'Ada', subject: 'ada-1' })
    expect(await sessions.find('another', HOST)).toBeUndefined()
    expect(await sessions.find(undefined, HOST)).toBeUndefined()
    await other.close(one)
    expect(await isOpen(one)).toBe(false)
    clock.nowMs += TOKEN_SESSION_MS
    expect([await isOpen(two), await isOpen(two, other)]).toEqual([false, false])
  })

  it('ends a session that sends no request for two hours', async () => {
    const { redis, keyPrefix, open, isOpen } = await givenConsoles()
    const session = await open('viewer')
    const [key = ''] = await redis.keys(`${keyPrefix}console-session:*`)
    expect(await redis.pttl(key)).toBeLessThanOrEqual(IDLE_MS)
    await redis.pexpire(key, 60_000)
    expect(await isOpen(session)).toBe(true)
    await until(async () => (await redis.pttl(key)) > 60_000)
    await redis.del(key)
    expect(await isOpen(session)).toBe(false)
    expect(await redis.exists(key)).toBe(0)
  })

  it('finds a session only at the host where it was opened', async () => {
    const { sessions, open, isOpen } = await givenConsoles()
    const session = await open('operator')
    expect(await sessions.find(session.id, 'localhost:9000')).toBeUndefined()
    expect(await isOpen(session)).toBe(true)
  })

  it('shows no cookie to readers of Redis', async () => {
    const { redis, keyPrefix, open } = await givenConsoles()
    const { id, revealed } = await open('viewer')
    await revealed.add('a user')
    const keys = await redis.keys(`${keyPrefix}*`)
    expect(keys).toHaveLength(3)
    const values = await Promise.all(keys.map((key) => redis.dump(key)))
    expect([...keys, ...values].filter((text) => text?.includes(id))).toEqual([])
  })

  it('remembers the latest thousand revealed names of a session in every console', async () => {
    const { other, open } = await givenConsoles()
    const { id, revealed } = await open('viewer')
    await Promise.all(Array.from({ length: 1_000 }, (_, user) => revealed.add(`user ${user}`)))
    await revealed.add('user 0')
    await revealed.add('user 1000')
    const found = await other.find(id, HOST)
    const names = ['user 0', 'user 1', 'user 2', 'user 1000']
    expect(names.map((name) => found?.revealed.has(name))).toEqual([true, false, true, true])
  })

  it('keeps two hundred sessions of each role, those used last', async () => {
    const { open, openMany, isOpen } = await givenConsoles()
    const [used, unused] = [await open('viewer'), await open('viewer')]
    await openMany(198, 'viewer')
    expect(await isOpen(used)).toBe(true)
    await open('viewer')
    expect([await isOpen(used), await isOpen(unused)]).toEqual([true, false])
  })

  it('ends sessions of the address that signs in very often, and of no other address or role', async () => {
    const { open, openMany, openOf, isOpen } = await givenConsoles()
    const operator = await open('operator')
    const others = await openMany(20, 'viewer', '10.0.0.2')
    const flood = await openMany(210, 'viewer', '10.0.0.3')
    expect([await openOf(others), await openOf(flood)]).toEqual([20, 180])
    expect(await isOpen(operator)).toBe(true)
  })

  it('ends the sessions of a token that was replaced, and no others', async () => {
    const { sessions, keyPrefix } = await givenSessions({ tokens: { operator: 'the first', viewer: 'another' } })
    const later = await givenSessions({ keyPrefix, tokens: { operator: 'the second', viewer: 'another' } })
    const without = await givenSessions({ keyPrefix })
    const openWithToken = (role: Role) =>
      sessions.open({ role, name: 'Ada', isVerified: false, subject: null, host: HOST, address: '', lastsMs: 60_000 })
    const opened = [await openWithToken('operator'), await openWithToken('viewer'), await openIn(sessions)('operator')]
    const foundBy = async ({ find }: Sessions) =>
      (await Promise.all(opened.map(({ id }) => find(id, HOST)))).map((found) => found !== undefined)
    expect(await foundBy(sessions)).toEqual([true, true, true])
    expect(await foundBy(later.sessions)).toEqual([false, true, true])
    expect(await foundBy(without.sessions)).toEqual([false, false, true])
  })

  it('logs once why Redis keeps no sessions, while it answers', async () => {
    const { redis: admin } = await givenSessions()
    const username = `spec-${randomUUID()}`
    onTestFinished(async () => void (await admin.call('ACL', 'DELUSER', username)))
    await admin.call('ACL', 'SETUSER', username, 'on', '>secret', '~*', '&*', '+@all', '-set')
    const lines: string[] = []
    const logger = createLogger('console', 'info', { write: (line: string) => void lines.push(line) })
    const url = Object.assign(new URL(inject('redisUrl')), { username, password: 'secret' }).href
    const { sessions } = await givenSessions({ url, logger })
    for (const id of ['a', 'b']) {
      await expect(openIn(sessions)('viewer')).rejects.toThrow(NoSessionsError)
      expect(await sessions.find(id.repeat(43), HOST)).toBeUndefined()
    }
    await admin.call('ACL', 'SETUSER', username, '+set')
    await openIn(sessions)('viewer')
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
      { msg: 'Sessions of the console fail in Redis: open', because: expect.stringContaining('NOPERM') as string },
      { msg: 'Sessions of the console work again: open' },
    ])
  })

  it('recognizes nobody, and says why, while Redis does not answer', async () => {
    const { sessions } = await givenSessions({ url: 'redis://127.0.0.1:1' })
    await expect(openIn(sessions)('viewer')).rejects.toThrow(NoSessionsError)
    await expect(sessions.find('a'.repeat(43), HOST)).rejects.toThrow(NoSessionsError)
    await expect(sessions.close({ id: 'a'.repeat(43), role: 'viewer' })).rejects.toThrow(NoSessionsError)
  })
})
