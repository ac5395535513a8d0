import { expect, it } from 'vitest'
import { catchUp } from './catch-up.ts'

it('goes on until little is left of every source', async () => {
  let remaining = 40_000
  const foldUp = () => Promise.resolve(void (remaining /= 2))
  await catchUp([
    { foldUp, remaining: () => Promise.resolve(remaining) },
    { foldUp: () => Promise.resolve(), remaining: () => Promise.resolve(0) },
  ])
  expect(remaining).toBe(625)
})

it('says so where the live folds are as fast as it is', async () => {
  const source = { foldUp: () => Promise.resolve(), remaining: () => Promise.resolve(1_000) }
  await expect(catchUp([source])).rejects.toMatchObject({ code: 'LIVE_IS_BUSY', retryable: true })
})
