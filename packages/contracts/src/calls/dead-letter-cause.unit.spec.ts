import { expect, it } from 'vitest'
import { causeOfFailedRetry, causeOfSetAside, withoutQuotedError } from './dead-letter-cause.ts'

const ERROR = 'TypeError: ada@example.com'

it.each([
  [causeOfFailedRetry(ERROR), 'folding it failed: •••'],
  [causeOfSetAside('Grace', ERROR), 'set aside by Grace: •••'],
  [causeOfSetAside('ops:ann', ERROR), 'set aside by ops: •••'],
  [causeOfSetAside('ops: ann', ERROR), 'set aside by ops: •••'],
  [causeOfSetAside(':\nann', ERROR), 'set aside by : •••'],
  ['value is not JSON', 'value is not JSON'],
])('hides the error that "%s" quotes', (cause, visible) => {
  expect(withoutQuotedError(cause, '•••')).toBe(visible)
})
