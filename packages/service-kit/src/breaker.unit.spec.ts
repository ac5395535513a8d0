import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createBreaker } from './breaker.ts'
import { createLogger } from './logger.ts'

const succeed = async () => 'ok'
const fail = async () => 'failed'
const reject = () => Promise.reject(new Error('unavailable'))
const isFailure = (result: string) => result === 'failed'

function givenBreaker(retryAfterMs = 20) {
  const states: boolean[] = []
  const answers: boolean[] = []
  const watch = {
    logger: createLogger('spec', 'silent'),
    dependencies: { noteOf: () => (isAnswered: boolean) => void answers.push(isAnswered) },
    onState: (_name: string, isOpen: boolean) => states.push(isOpen),
  }
  const breaker = createBreaker('part', watch, { retryAfterMs })
  onTestFinished(() => breaker.stop())
  const run = (action: () => Promise<string>) => breaker.run(action, isFailure, 'not run')
  return { ...breaker, run, states, answers }
}

/** A breaker that has seen enough failures to open, and tries again after some milliseconds. */
async function givenOpenBreaker() {
  const breaker = givenBreaker()
  for (let call = 0; call < 5; call += 1) await breaker.run(fail)
  expect([breaker.isOpen(), await breaker.run(succeed)]).toEqual([true, 'not run'])
  await sleep(50)
  return breaker
}

describe('a breaker (design.md, Calls to services)', () => {
  it('opens if more than half of the calls failed, but not for the first few', async () => {
    const breaker = givenBreaker()
    for (const action of [fail, fail, fail]) await breaker.run(action)
    for (const action of [succeed, succeed, succeed, succeed]) expect(await breaker.run(action)).toBe('ok')
    for (let call = 0; call < 2; call += 1)
      expect([await breaker.run(fail), breaker.isOpen()]).toEqual(['failed', call === 1])
    expect(breaker.states).toEqual([false, true])
  })

  it('counts an action that rejects as a failure, and rejects nothing', async () => {
    const breaker = givenBreaker()
    for (let call = 0; call < 4; call += 1) expect(await breaker.run(reject)).toBe('not run')
    expect(breaker.isOpen()).toBe(true)
  })

  it('takes note of each call that it runs, and of none that it does not', async () => {
    const breaker = await givenOpenBreaker()
    expect(breaker.answers).toEqual([false, false, false, false])
    await breaker.run(succeed)
    expect(breaker.answers.at(-1)).toBe(true)
  })

  it('counts calls in flight as not failed', async () => {
    const breaker = givenBreaker()
    const underWay = Promise.withResolvers<string>()
    const calls = Array.from({ length: 10 }, () => breaker.run(() => underWay.promise))
    for (let call = 0; call < 5; call += 1) await breaker.run(fail)
    expect(breaker.isOpen()).toBe(false)
    underWay.resolve('ok')
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['ok']))
  })

  it('lets one call through as a trial, and counts as open until the trial is over', async () => {
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
    expect(breaker.states).toEqual([false, true, false])
  })

  it('opens again if the trial fails', async () => {
    const breaker = await givenOpenBreaker()
    expect(await breaker.run(fail)).toBe('failed')
    expect([breaker.isOpen(), breaker.isTrying()]).toEqual([true, false])
  })

  it('is neither closed nor kept open by a call that began before it opened', async () => {
    const breaker = givenBreaker()
    const [good, bad] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    const late = [breaker.run(() => good.promise), breaker.run(() => bad.promise)]
    for (let call = 0; call < 5; call += 1) await breaker.run(fail)
    good.resolve('ok')
    await late[0]
    expect(breaker.isOpen()).toBe(true)
    await sleep(50)
    expect(await breaker.run(succeed)).toBe('ok')
    bad.resolve('failed')
    await late[1]
    expect(breaker.isOpen()).toBe(false)
  })
})
