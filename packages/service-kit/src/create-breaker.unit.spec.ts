import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger } from './create-logger.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createBreaker } from './create-breaker.ts'

const watch = { logger: createLogger('spec', 'silent'), onState: () => {} }
const succeed = async () => 'ok'
const fail = async () => 'failed'
const isFailure = (result: string) => result === 'failed'

/** A breaker that has seen enough failures to open, and tries again after some milliseconds. */
async function givenOpenBreaker() {
  const breaker = createBreaker('part', watch, 20)
  onTestFinished(() => breaker.stop())
  const run = (action: () => Promise<string>) => breaker.run(action, isFailure, 'not run')
  for (let call = 0; call < 5; call += 1) await run(fail)
  expect([breaker.isOpen(), await run(succeed)]).toEqual([true, 'not run'])
  await sleep(50)
  return { ...breaker, run }
}

describe('a breaker (design.md, A track event)', () => {
  it('lets one call through to find out, and counts as open until that call is over', async () => {
    const breaker = await givenOpenBreaker()
    expect([breaker.isOpen(), breaker.isTrying()]).toEqual([false, false])
    const trial = Promise.withResolvers<string>()
    const tried = breaker.run(() => trial.promise)
    expect([breaker.isOpen(), breaker.isTrying()]).toEqual([true, true])
    expect(await breaker.run(succeed)).toBe('not run')
    trial.resolve('ok')
    expect(await tried).toBe('ok')
    expect([breaker.isOpen(), breaker.isTrying()]).toEqual([false, false])
    expect(await breaker.run(succeed)).toBe('ok')
  })

  it('opens again where the trial fails', async () => {
    const breaker = await givenOpenBreaker()
    expect(await breaker.run(fail)).toBe('failed')
    expect([breaker.isOpen(), breaker.isTrying()]).toEqual([true, false])
  })
})
