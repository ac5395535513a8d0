import { describe, expect, it } from 'vitest'
import { isConnectionFailure, isTransientError, sqlStateOf } from './database-errors.ts'

describe('the classification of errors', () => {
  it.each([undefined, null, 'text', 7, {}, new Error('other'), { meta: null, cause: 'x' }])(
    'takes anything that may be thrown: %j',
    (thrown) => {
      expect([sqlStateOf(thrown), isConnectionFailure(thrown), isTransientError(thrown)]).toEqual([
        undefined,
        false,
        false,
      ])
    },
  )

  it("does not take Prisma's and Node's codes for Postgres'", () => {
    expect(sqlStateOf(Object.assign(new Error('x'), { code: 'P1001' }))).toBeUndefined()
    expect(sqlStateOf(Object.assign(new Error('x'), { code: 'EPIPE' }))).toBeUndefined()
    expect(sqlStateOf(Object.assign(new Error('x'), { code: '23505', severity: 'ERROR' }))).toBe('23505')
  })

  it('finds what happened below the error that was thrown', () => {
    const cause = Object.assign(new Error('x'), { code: 'ECONNRESET' })
    expect(isConnectionFailure(new Error('could not', { cause }))).toBe(true)
  })

  it('does not go round in circles', () => {
    const error = new Error('round')
    error.cause = error
    expect(isConnectionFailure(error)).toBe(false)
  })
})
