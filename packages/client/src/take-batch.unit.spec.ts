import { describe, expect, it } from 'vitest'
import { batchBody, takeBatch } from './take-batch.ts'
import { writeCall } from './waiting-call.ts'

const call = (userName: string, { pad = '', sendFrom = 0 } = {}) => ({
  ...writeCall('track', { userName, eventName: 'a', properties: { pad } }),
  sendFrom,
})
const rules = { maxBytes: 512_000, busyUsers: new Set<string>(), now: 0 }
const usersIn = (batch: readonly { readonly user: string }[]) => batch.map(({ user }) => user)

describe('a batch', () => {
  it('has the first calls in order, at most 1,000', () => {
    const waiting = Array.from({ length: 1_001 }, (_, index) => call(`user ${index}`))
    expect(takeBatch(waiting, rules)).toEqual(waiting.slice(0, 1_000))
    expect(takeBatch([], rules)).toEqual([])
  })

  it('has at most the maximum bytes of UTF-8', () => {
    const waiting = [call('ada', { pad: 'ü' }), call('grace', { pad: '…' }), call('joan', { pad: 'x' })]
    const maxBytes = batchBody(waiting).length
    expect(JSON.parse(new TextDecoder().decode(batchBody(waiting)))).toMatchObject({
      items: [{ properties: { pad: 'ü' } }, {}, {}],
    })
    expect(takeBatch(waiting, { ...rules, maxBytes })).toHaveLength(3)
    expect(takeBatch(waiting, { ...rules, maxBytes: maxBytes - 1 })).toHaveLength(2)
  })

  it('has a call that exceeds the maximum alone', () => {
    const waiting = [call('ada', { pad: 'x'.repeat(1_000) }), call('grace')]
    expect(usersIn(takeBatch(waiting, { ...rules, maxBytes: 500 }))).toEqual(['ada'])
  })

  it('has all calls of a user in order, except of users in flight and after a delayed call', () => {
    const waiting = [call('ada'), call('grace', { sendFrom: 5 }), call('joan'), call('grace'), call('ada')]
    expect(usersIn(takeBatch(waiting, { ...rules, busyUsers: new Set(['ada']), now: 4 }))).toEqual(['joan'])
    expect(usersIn(takeBatch(waiting, { ...rules, now: 5 }))).toEqual(['ada', 'grace', 'joan', 'grace', 'ada'])
  })
})
