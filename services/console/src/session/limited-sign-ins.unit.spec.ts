import { describe, expect, it } from 'vitest'
import type { SignInOutcome } from './identity-provider.ts'
import { createLimitedSignIns } from './limited-sign-ins.ts'

const SIGNED_IN: SignInOutcome = { outcome: 'signed-in', role: 'viewer', name: 'Ada', subject: 'ada-1' }
const REFUSED: SignInOutcome = { outcome: 'refused' }

/** A limit, and sign-ins of addresses. `asked`: how many of them the provider was asked about. */
function givenLimit() {
  const clock = { nowMs: 0 }
  const limited = createLimitedSignIns(() => clock.nowMs)
  let asked = 0
  const signIn = async (address: string, answer: SignInOutcome | Promise<SignInOutcome>) => {
    const { outcome } = await limited(address, async () => {
      asked += 1
      return answer
    })
    return outcome
  }
  const signInOften = async (times: number, address: (index: number) => string, answer = REFUSED) => {
    for (let index = 0; index < times; index += 1) await signIn(address(index), answer)
  }
  return { clock, signIn, signInOften, asked: () => asked }
}

describe('the limit on sign-ins with an identity provider', () => {
  it('stops an address after ten failed ones in a minute, and no other address', async () => {
    const { clock, signIn, signInOften, asked } = givenLimit()
    await signInOften(20, () => 'a stranger')
    expect(asked()).toBe(10)
    expect(await signIn('a stranger', SIGNED_IN)).toBe('too-many')
    expect(await signIn('a colleague', SIGNED_IN)).toBe('signed-in')
    clock.nowMs = 60_000
    expect(await signIn('a stranger', SIGNED_IN)).toBe('signed-in')
  })

  it('counts no sign-in that succeeds, and none that has asked nobody', async () => {
    const { signIn, signInOften } = givenLimit()
    await signInOften(200, () => 'an office', SIGNED_IN)
    await signInOften(200, () => 'an office', { outcome: 'expired' })
    expect(await signIn('an office', REFUSED)).toBe('refused')
  })

  it('asks the provider at most a hundred times a minute for those that fail, from however many addresses', async () => {
    const { signInOften, asked } = givenLimit()
    await signInOften(300, (index) => `address ${index}`)
    expect(asked()).toBe(100)
  })

  it('counts a running one, also longer than a minute, until it ends', async () => {
    const { clock, signIn } = givenLimit()
    const answers = Array.from({ length: 50 }, () => Promise.withResolvers<SignInOutcome>())
    const running = answers.map(({ promise }, index) => signIn(`address ${index % 10}`, promise))
    clock.nowMs = 120_000
    expect(await signIn('another', SIGNED_IN)).toBe('too-many')
    for (const { resolve } of answers) resolve(SIGNED_IN)
    await Promise.all(running)
    expect(await signIn('another', SIGNED_IN)).toBe('signed-in')
  })
})
