import { expect, it } from 'vitest'
import { answerRequestParts, givenRoute, KEY } from '../../test/answer-request-parts.ts'
import { answer } from './route.ts'

it('a read holds no place among the requests in flight while it pays for its answer', async () => {
  const [paying, paid] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const rateLimiter = {
    take: async (_keyHash: string, _limit: unknown, batch?: { readonly isOwedAnyway?: boolean }) => {
      if (batch?.isOwedAnyway) {
        paying.resolve()
        await paid.promise
      }
      return { isAllowed: true, remaining: 1, moreInSeconds: 1 }
    },
  }
  const bodies = ['x'.repeat(50_000), 'short']
  const handle = async () => answer(200, { note: bodies.shift() })
  const url = await givenRoute(
    { method: 'GET', pattern: '/test', keyKind: 'admin', handle },
    answerRequestParts({ rateLimiter, maxInFlight: 1 }),
  )
  const read = () => fetch(url, { headers: { 'x-api-key': KEY } })
  const long = read()
  await paying.promise
  expect((await read()).status).toBe(200)
  paid.resolve()
  expect((await long).status).toBe(200)
})
