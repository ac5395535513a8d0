import { describe, expect, it } from 'vitest'
import { answered, type ApiResult, refuse } from './api-route.ts'
import { givenSession } from '../../test/given-session.ts'
import { createRequestLimit } from './request-limit.ts'

const TOO_MANY = refuse(429, 'too-many', 'Wait.')
const MORE = answered('more')

/** A limit of two for each session and three for each role, sessions, and requests that end on demand. */
function givenLimit(waitMs = 0) {
  const limited = createRequestLimit({ ofSession: 2, ofRole: 3, waitMs }, TOO_MANY)
  const [ada, bob, eve] = [givenSession('viewer'), givenSession('viewer'), givenSession('viewer')]
  const op = givenSession('operator')
  const { signal } = new AbortController()
  const ask = (session = ada) => limited(session, signal, () => MORE)
  /** Begins a request that runs until it is ended. */
  const begin = (session = ada) => {
    const running = Promise.withResolvers<ApiResult<string>>()
    return { ...running, ended: limited(session, signal, () => running.promise) }
  }
  return { limited, ask, begin, ada, bob, eve, op }
}

describe('a limit of requests', () => {
  it('refuses further requests of a session, until one has ended or failed', async () => {
    const { ask, begin, bob } = givenLimit()
    const [one, two] = [begin(), begin()]
    expect(await ask()).toBe(TOO_MANY)
    expect(await ask(bob)).toBe(MORE)
    one.reject(new Error('away'))
    await expect(one.ended).rejects.toThrow('away')
    expect(await ask()).toBe(MORE)
    two.resolve(MORE)
    await two.ended
  })

  it('refuses further requests of a role, however many sessions there are, and none of the other role', async () => {
    const { ask, begin, ada, bob, eve, op } = givenLimit()
    const running = [begin(ada), begin(ada), begin(bob)]
    expect(await ask(eve)).toBe(TOO_MANY)
    expect(await ask(op)).toBe(MORE)
    for (const { resolve } of running) resolve(MORE)
    await Promise.all(running.map(({ ended }) => ended))
    expect(await ask(eve)).toBe(MORE)
  })

  it('lets requests wait for their turn, in their order, and forgets those whose caller leaves', async () => {
    const { limited, begin, ada, bob, eve } = givenLimit(60_000)
    const running = [begin(ada), begin(ada), begin(bob)]
    const order: string[] = []
    const leaving = new AbortController()
    const note = (name: string) => () => {
      order.push(name)
      return MORE
    }
    const left = limited(bob, leaving.signal, note('left'))
    const waiting = ['first', 'second'].map((name) => limited(eve, new AbortController().signal, note(name)))
    leaving.abort()
    expect(await left).toBe(TOO_MANY)
    running[0]?.resolve(MORE)
    expect(await Promise.all(waiting)).toEqual([MORE, MORE])
    expect(order).toEqual(['first', 'second'])
    for (const { resolve } of running) resolve(MORE)
    await Promise.all(running.map(({ ended }) => ended))
  })
})
