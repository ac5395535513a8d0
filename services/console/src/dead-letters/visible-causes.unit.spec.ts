import { expect, it } from 'vitest'
import { withVisibleCauses } from './visible-causes.ts'

it.each([
  ['value is not JSON', 'value is not JSON'],
  ['folding it failed: TypeError: ada@example.com', 'folding it failed: •••'],
  ['set aside by ops:ann: TypeError: ada@example.com', 'set aside by ops: •••'],
  ['set aside by Grace: TypeError: ada@example.com', 'set aside by Grace: •••'],
])('withVisibleCauses hides the error in "%s" from a viewer', (cause, visible) => {
  expect(withVisibleCauses({ cause }, false)).toEqual({ cause: visible })
  expect(withVisibleCauses({ cause }, true)).toEqual({ cause })
})
