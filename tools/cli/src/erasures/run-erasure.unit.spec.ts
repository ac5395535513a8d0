import type { ErasureStore } from '@nextvisit/contracts'
import { expect, it } from 'vitest'
import { waitingLine } from './run-erasure.ts'

const AT = '2026-11-02T10:00:00.000Z'
const done = (store: ErasureStore['store']): ErasureStore => ({ store, status: 'complete', at: AT, rows: 1 })
const late: ErasureStore = { store: 'metering', status: 'incomplete', rows: 0, because: 'It lags.' }
const keys: ErasureStore = { store: 'user-keys', status: 'running', rows: 0 }
const due: ErasureStore = { ...keys, dueAt: AT }

it.each([
  ['the unfinished stores', [done('user-events'), late, keys], 'metering incomplete (It lags.), user-keys running'],
  ['the time when the last one finishes', [done('user-events'), due], `user-keys running (at the latest ${AT})`],
  ['the receipt', [done('user-events')], 'Every store has finished. The receipt is not published yet.'],
])('a wait for an erasure names %s', (_, stores, line) => {
  expect(waitingLine({ outcome: 'answered', answer: { stores } })).toBe(line)
})

it('a wait for an erasure says whether the user-eraser is silent, or has not read the request', () => {
  const unread = 'The user-eraser has not read the request yet. Waiting.'
  expect(waitingLine({ outcome: 'not-found' })).toBe(unread)
  expect(waitingLine({ outcome: 'behind' })).toBe(unread)
  const cause = new Error('refused')
  expect(waitingLine({ outcome: 'unavailable', cause })).toBe('The user-eraser does not answer. Waiting.')
})
