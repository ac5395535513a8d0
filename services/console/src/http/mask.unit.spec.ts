import { expect, it } from 'vitest'
import { HIDE_PERSONAL } from './mask.ts'

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
