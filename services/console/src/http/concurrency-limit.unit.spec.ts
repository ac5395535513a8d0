import { expect, it } from 'vitest'
import { createSessions } from './sessions.ts'
import { answered, type ApiResult, refuse } from './api-route.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'

it('a concurrency limit of two runs two requests of a session at the same time, even after one has failed', async () => {
  const sessions = createSessions(() => 0)
  const [ada, bob] = [sessions.open('viewer', 'Ada'), sessions.open('viewer', 'Bob')]
  const tooMany = refuse(429, 'too-many', 'Wait.')
  const limited = createConcurrencyLimit(2, tooMany)
  const [first, second, third] = [1, 2, 3].map(() => Promise.withResolvers<ApiResult<string>>())
  if (!first || !second || !third) throw new Error('There are three')
  const [one, two] = [limited(ada, () => first.promise), limited(ada, () => second.promise)]
  let hasBegun = false
  const work = async () => {
    hasBegun = true
    return answered('more')
  }
  expect(await limited(ada, work)).toBe(tooMany)
  expect(hasBegun).toBe(false)
  expect(await limited(bob, work)).toEqual(answered('more'))

  first.reject(new Error('away'))
  await expect(one).rejects.toThrow('away')
  const next = limited(ada, () => third.promise)
  expect(await limited(ada, work)).toBe(tooMany)
  second.resolve(answered('two'))
  third.resolve(answered('three'))
  expect([await two, await next]).toEqual([answered('two'), answered('three')])
  expect(await limited(ada, work)).toEqual(answered('more'))
})
