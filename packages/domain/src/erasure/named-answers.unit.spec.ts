import type { CollectedAnswer } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { nameAnswers, usersOfAnswers } from './named-answers.ts'

const PLACE = { organization: 'acme', project: 'shop' }
const USER = { ...PLACE, userId: 'c364d31e-5b0f-5a9e-8f5d-0c2f6a1b7e44' }
const REQUESTED = Date.parse('2026-11-02T10:00:00.000Z')
const UNTIL = REQUESTED + 60_000
const fence = { offset: '7', keysUntil: new Date(UNTIL).toISOString(), erasureId: USER.userId }
const answerAt = (ms: number) =>
  ({ userId: USER.userId, answerId: String(ms), startedAt: new Date(ms).toISOString() }) as CollectedAnswer
const NOBODY = { isSuppressed: () => false, keysUntilOf: () => undefined }

describe('an answer is shown', () => {
  it.each([
    ['of a user who was never erased', 0, { userName: 'ada' }, undefined, true],
    ['of a user whom the projector does not know yet', 0, { userName: null }, undefined, true],
    ['of an erased user', UNTIL + 1, { userName: null, fence }, undefined, false],
    ['of a user who returned, from before the request', REQUESTED, { userName: 'ada', fence }, undefined, false],
    ['of a user who returned, from after the request', REQUESTED + 1, { userName: 'ada', fence }, undefined, true],
    ['of a user whose erasure only the caller knows', UNTIL + 1, { userName: 'ada' }, UNTIL, false],
    ['of a user whose second erasure only the caller knows', UNTIL + 1, { userName: 'ada', fence }, UNTIL + 9, false],
    ['of a user who returned, as the caller and the projector know', UNTIL, { userName: 'ada', fence }, UNTIL, true],
  ])('%s', (_what, startedMs, named, knownUntilMs, isShown) => {
    const erasures = { ...NOBODY, keysUntilOf: () => knownUntilMs }
    const answers = nameAnswers([answerAt(startedMs)], [USER], [named], erasures)
    expect(answers.map(({ userName }) => userName)).toEqual(isShown ? [named.userName] : [])
  })

  it('never of a suppressed user', () => {
    const erasures = { ...NOBODY, isSuppressed: () => true }
    expect(nameAnswers([answerAt(0)], [USER], [{ userName: 'ada' }], erasures)).toEqual([])
  })
})

it('each user of some answers is asked about once', () => {
  expect(usersOfAnswers(PLACE, [answerAt(0), answerAt(1)])).toEqual([USER])
})
