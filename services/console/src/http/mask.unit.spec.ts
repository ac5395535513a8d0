import { expect, it } from 'vitest'
import { HIDE_PERSONAL, SHOW_ALL } from './mask.ts'

it.each([
  ['😀 smiles', '😀•••'],
  ['ada@example.com', 'a•••'],
  ['7', '•••'],
  ['Grace H', '•••'],
  ['😀😀😀😀', '•••'],
])(
  'the mask keeps the first character of a userName of at least eight, and nothing of a shorter one: %s',
  (userName, masked) => {
    expect(HIDE_PERSONAL.userName(userName)).toBe(masked)
  },
)

it('a value of another program that is nested too deep hides no other value', () => {
  const deep: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
  expect([deep, '150', 150].map(SHOW_ALL.value)).toEqual(['(nested too deep to show)', '"150"', '150'])
})
