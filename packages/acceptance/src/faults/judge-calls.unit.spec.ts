import { describe, expect, it } from 'vitest'
import type { Call } from './callers.ts'
import { judgeCalls } from './judge-calls.ts'

const call = (status: number | undefined, sentAt = 0, keyed = false): Call => ({
  organization: 'acme',
  project: 'shop',
  userName: 'ada',
  status,
  requestId: undefined,
  keyed,
  sentAt,
  elapsedMs: 1,
})
const kindsOf = (calls: readonly Call[], isReady = true) =>
  judgeCalls(calls, { isReady, calmSince: 10 }).map(({ kind, count }) => `${kind} ${count}`)

describe('what the answers say against a run', () => {
  it('is nothing where requests failed during the fault and pass again after it', () => {
    expect(kindsOf([call(503), call(undefined), call(409, 0, true), call(503, 10), call(202, 11)])).toEqual([])
  })

  it('is an answer that no fault excuses', () => {
    expect(kindsOf([call(500), call(409), call(402), call(200, 11)])).toEqual(['answers: unexpected 3'])
  })

  it('is a gateway that never comes back', () => {
    expect(kindsOf([call(200), call(503, 11)])).toEqual(['answers: none again 1'])
    expect(kindsOf([call(200), call(200, 11)], false)).toEqual(['not ready again 1'])
  })
})
