import { describe, expect, it } from 'vitest'
import { traceParentOf } from './trace-parent.ts'

const requestId = '019a7c3e-5f1b-7abc-8def-0123456789ab'
const own = /^00-019a7c3e5f1b7abc8def0123456789ab-[0-9a-f]{16}-00$/
const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const caller = '00f067aa0ba902b7'

describe('the trace of a request', () => {
  it('is the caller’s, with the gateway as the parent and the caller’s flags', () => {
    const made = traceParentOf(`00-${trace}-${caller}-01`, requestId)
    expect(made).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`))
    expect(made).not.toContain(caller)
  })

  it('is also read from later versions', () => {
    expect(traceParentOf(`cc-${trace}-${caller}-01-what-comes-later`, requestId)).toContain(trace)
  })

  it('is the request’s own without a header', () => {
    expect(traceParentOf(undefined, requestId)).toMatch(own)
  })

  it.each([
    '',
    'nonsense',
    `ff-${trace}-${caller}-01`,
    `00-${'0'.repeat(32)}-${caller}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${caller}-01`,
    `00-${trace}-${caller}-01-more`,
    `00-${trace}-${caller}-1`,
    `00-${trace}-${caller}-01, 00-${trace}-${caller}-01`,
  ])('is the request’s own if the header is not a trace: %j', (header) => {
    expect(traceParentOf(header, requestId)).toMatch(own)
  })
})
