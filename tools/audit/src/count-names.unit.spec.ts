import { expect, it } from 'vitest'
import { slugOf } from './count-names.ts'

it.each([
  ['Checkout Completed', 'checkout_completed'],
  ['  --Checkout...Completed!  ', 'checkout_completed'],
  ['Ka\u0308se gekauft', 'käse_gekauft'],
  ['ปี', 'ปี'],
  ['ปู', 'ปู'],
  ['कील', 'कील'],
  ['किल', 'किल'],
  ['H\u0331at', '\u1e96at'],
  ['İptal', 'i\u0307ptal'],
  ['Liked ❤\ufe0f', 'liked'],
  ['Step 1\ufe0f\u20e3 done', 'step_1_done'],
  ['\u0301abc \u0e35', 'abc'],
  ['e\u034f\u0301', 'é'],
  ['র\u200d্যাব গেল', 'র্যাব_গেল'],
])('the audit derives the slug of %j as decisions.md says (Track event)', (name, slug) => {
  expect(slugOf(name)).toBe(slug)
})
