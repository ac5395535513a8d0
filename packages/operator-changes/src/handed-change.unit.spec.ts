import { describe, expect, it } from 'vitest'
import { handChange, takeChange } from './handed-change.ts'

const ID = '01a2066e-3ec0-780c-9db5-05517574891e'
const ADA = { kind: 'console', name: 'Ada', isVerified: true, via: 'openid', subject: 'ada-1' } as const
const TOKEN = 'a token of some length'

describe('a change that the console hands to a command', () => {
  it('has the person and the id of the change', () => {
    expect(takeChange(handChange(ADA, ID, TOKEN), TOKEN)).toEqual({ actor: ADA, changeId: ID })
  })

  it.each([
    ['without a token', handChange(ADA, ID, undefined), TOKEN],
    ['by another token', handChange(ADA, ID, 'another token'), TOKEN],
    ['for a command without a token', handChange(ADA, ID, TOKEN), undefined],
    ['of another change', handChange(ADA, ID, TOKEN).replace('Ada', 'Eve'), TOKEN],
  ])('is not verified with a proof %s', (_, value, token) => {
    expect(takeChange(value, token)).toMatchObject({ actor: { isVerified: false }, changeId: ID })
  })

  it.each([
    ['no JSON', '{'],
    ['no change', '{}'],
    ['null', 'null'],
    ['a malformed id', handChange(ADA, '1', TOKEN)],
    ['an admin key', handChange({ ...ADA, kind: 'key' }, ID, TOKEN)],
    ['a command', handChange({ ...ADA, kind: 'command' }, ID, TOKEN)],
  ])('is refused if it is %s', (_, value) => {
    expect(takeChange(value, TOKEN)).toBeUndefined()
  })
})
