import { expect, it } from 'vitest'
import { createSessions } from './sessions.ts'
import { answered, type ApiResult, refuse } from './api-route.ts'
import { createAtATime } from './at-a-time.ts'

it('runs two pieces of work of a session at a time, whatever the outcome of earlier ones', async () => {
  const sessions = createSessions(() => 0)
  const [ada, bob] = [sessions.open('viewer', 'Ada'), sessions.open('viewer', 'Bob')]
  const tooMany = refuse(429, 'too-many', 'Wait.')
  const atATime = createAtATime(2, tooMany)
  const [first, second, third] = [1, 2, 3].map(() => Promise.withResolvers<ApiResult<string>>())
  if (!first || !second || !third) throw new Error('There are three')
  const [one, two] = [atATime(ada, () => first.promise), atATime(ada, () => second.promise)]
  let hasBegun = false
  const work = async () => {
    hasBegun = true
    return answered('more')
  }
  expect(await atATime(ada, work)).toBe(tooMany)
  expect(hasBegun).toBe(false)
  expect(await atATime(bob, work)).toEqual(answered('more'))

  first.reject(new Error('away'))
  await expect(one).rejects.toThrow('away')
  const next = atATime(ada, () => third.promise)
  expect(await atATime(ada, work)).toBe(tooMany)
  second.resolve(answered('two'))
  third.resolve(answered('three'))
  expect([await two, await next]).toEqual([answered('two'), answered('three')])
  expect(await atATime(ada, work)).toEqual(answered('more'))
})
