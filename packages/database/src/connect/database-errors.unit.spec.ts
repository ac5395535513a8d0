import { describe, expect, it } from 'vitest'
import { isConnectionFailure, isTransientError, sqlStateOf } from './database-errors.ts'

describe('the classification of errors', () => {
  it.each([undefined, null, 'text', 7, {}, new Error('other'), { meta: null, cause: 'x' }])(
    'accepts any thrown value: %j',
    (thrown) => {
      expect([sqlStateOf(thrown), isConnectionFailure(thrown), isTransientError(thrown)]).toEqual([
        undefined,
        false,
        false,
      ])
    },
  )

  it('does not mistake codes of Prisma and Node for SQLSTATEs', () => {
    expect(sqlStateOf(Object.assign(new Error('x'), { code: 'P1001' }))).toBeUndefined()
    expect(sqlStateOf(Object.assign(new Error('x'), { code: 'EPIPE' }))).toBeUndefined()
    expect(sqlStateOf(Object.assign(new Error('x'), { code: '23505', severity: 'ERROR' }))).toBe('23505')
  })

  it('searches the causes of the thrown error', () => {
    const cause = Object.assign(new Error('x'), { code: 'ECONNRESET' })
    expect(isConnectionFailure(new Error('could not', { cause }))).toBe(true)
  })

  it('ends for an error that is its own cause', () => {
    const error = new Error('round')
    error.cause = error
    expect(isConnectionFailure(error)).toBe(false)
  })
})
