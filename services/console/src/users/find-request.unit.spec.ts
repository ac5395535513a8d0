import { expect, it } from 'vitest'
import { timeOf } from './find-request.ts'

it('timeOf returns the time of a UUIDv7, and undefined for other ids', () => {
  expect(timeOf('01a2066e-3ec0-780c-9db5-05517574891e')).toBe(0x01a2066e3ec0)
  expect(timeOf('15e46d0f-a922-5800-a3fd-9c536cb14c9a')).toBeUndefined()
})
