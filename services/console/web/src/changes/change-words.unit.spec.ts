import { OPERATOR_CHANGE_KINDS } from '@nextvisit/contracts'
import { expect, it } from 'vitest'
import { authorOf, factsOf, kindOf, KINDS } from './change-words.ts'

const note = (actor: Parameters<typeof authorOf>[0]['actor']) => authorOf({ actor }).note

it('every kind of change has words, and can be filtered by in an address', () => {
  expect(Object.keys(KINDS)).toEqual([...OPERATOR_CHANGE_KINDS])
  expect(OPERATOR_CHANGE_KINDS.map(kindOf)).toEqual([...OPERATOR_CHANGE_KINDS])
  expect(['__proto__', 'other', 7].map(kindOf)).toEqual([undefined, undefined, undefined])
})

it('details are shown with their names in words', () => {
  expect(factsOf({ details: { erasureId: 'e1', users: 2, suppress: true, isRemoval: false } })).toEqual([
    'erasure id: e1',
    'users: 2',
    'suppress: yes',
    'removal: no',
  ])
})

it('an author is shown with the certainty of the name', () => {
  expect(note({ kind: 'console', name: 'Ada', isVerified: true, via: 'openid' })).toBe('console, name verified')
  expect(note({ kind: 'console', name: 'Ada', isVerified: false, via: 'token' })).toContain('not verified')
  expect(note({ kind: 'command', name: 'Ada', isVerified: false, via: 'ada@ops' })).toContain('ada@ops')
  expect(authorOf({ actor: { kind: 'key', name: 'backend', isVerified: true } }).name).toBe('Key backend')
})
