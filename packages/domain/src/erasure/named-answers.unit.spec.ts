import type { CollectedAnswer } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { nameAnswers, usersOfAnswers } from './named-answers.ts'

const PLACE = { organization: 'acme', project: 'shop' }
const USER = { ...PLACE, userId: 'c364d31e-5b0f-5a9e-8f5d-0c2f6a1b7e44' }
const [FIRST, SECOND] = ['2026-11-02T10:01:00.000Z', '2026-11-02T10:05:00.000Z']
const fenceAt = (keysUntil: string) => ({ offset: '7', keysUntil, erasureId: USER.userId })
const [first, second] = [fenceAt(FIRST), fenceAt(SECOND)]
/** An answer of a collector that has folded the user's erasures until this one. */
const answer = (erasedUntil?: string) =>
  ({ userId: USER.userId, answerId: USER.userId, ...(erasedUntil && { erasedUntil }) }) as CollectedAnswer
const NOBODY = { isSuppressed: () => false, keysUntilOf: () => undefined }

describe('an answer is shown', () => {
  it.each([
    ['of a user who was never erased', undefined, { userName: 'ada' }, undefined, ['ada']],
    ['of a user whom the projector does not know yet', undefined, { userName: null }, undefined, [null]],
    ['of an erased user, while the collector lags', undefined, { userName: null, fence: first }, FIRST, []],
    ['of one whose erasure only the caller knows', undefined, { userName: 'ada' }, FIRST, []],
    ['of one whose erasure only the projector knows', undefined, { userName: 'ada', fence: first }, undefined, []],
    ['of one whose second erasure only the caller knows', FIRST, { userName: 'ada', fence: first }, SECOND, []],
    ['of one whose second erasure the projector knows', FIRST, { userName: 'ada', fence: second }, undefined, []],
    ['of a user who returned', FIRST, { userName: 'ada', fence: first }, FIRST, ['ada']],
    ['of one whose return the projector does not know yet', FIRST, { userName: null, fence: first }, FIRST, [null]],
    ['of one whose erasure the projector does not know yet', FIRST, { userName: 'ada' }, FIRST, [null]],
    ['of one whose second one it does not know yet', SECOND, { userName: 'ada', fence: first }, undefined, [null]],
  ])('%s', (_what, collectedUntil, named, knownUntil, shown) => {
    const keysUntilOf = () => (knownUntil === undefined ? undefined : Date.parse(knownUntil))
    const answers = nameAnswers([answer(collectedUntil)], [USER], [named], { ...NOBODY, keysUntilOf })
    expect(answers).toEqual(shown.map((userName) => ({ answerId: USER.userId, userId: USER.userId, userName })))
  })

  it('never of a suppressed user', () => {
    const erasures = { ...NOBODY, isSuppressed: () => true }
    expect(nameAnswers([answer()], [USER], [{ userName: 'ada' }], erasures)).toEqual([])
  })
})

it('each user of some answers is asked about once', () => {
  expect(usersOfAnswers(PLACE, [answer(), answer(FIRST)])).toEqual([USER])
})
