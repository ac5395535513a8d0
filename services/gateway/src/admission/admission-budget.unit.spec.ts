import { expect, it } from 'vitest'
import { REQUEST_BUDGET_MS } from '../http/request-budget.ts'
import { outlastsRoomLease } from './admission-budget.ts'

it.each([
  [200, false],
  [1_000, false],
  [1_666, false],
  [1_667, true],
  [REQUEST_BUDGET_MS, true],
  [5_000, true],
])('a request with a budget of %i ms outlasts a lease of room: %s', (requestBudgetMs, isLonger) => {
  expect(outlastsRoomLease(requestBudgetMs)).toBe(isLonger)
})
