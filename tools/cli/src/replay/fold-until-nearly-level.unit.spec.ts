import { expect, it } from 'vitest'
import { foldUntilNearlyLevel } from './fold-until-nearly-level.ts'

it('a replay folds until few records of every source are left', async () => {
  let remaining = 40_000
  const foldUp = () => Promise.resolve(void (remaining /= 2))
  await foldUntilNearlyLevel([
    { foldUp, remaining: () => Promise.resolve(remaining) },
    { foldUp: () => Promise.resolve(), remaining: () => Promise.resolve(0) },
  ])
  expect(remaining).toBe(625)
})

it('a replay fails if the live folds are as fast as the replay', async () => {
  const source = { foldUp: () => Promise.resolve(), remaining: () => Promise.resolve(1_000) }
  await expect(foldUntilNearlyLevel([source])).rejects.toMatchObject({ code: 'NOT_CAUGHT_UP', retryable: true })
})
