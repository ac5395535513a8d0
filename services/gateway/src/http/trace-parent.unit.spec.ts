import { describe, expect, it } from 'vitest'
import { traceOf } from './trace-parent.ts'

const requestId = '019a7c3e-5f1b-7abc-8def-0123456789ab'
const own = /^00-019a7c3e5f1b7abc8def0123456789ab-8def0123456789ab-0[01]$/
const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const caller = '00f067aa0ba902b7'
const always = () => true
const never = () => false

describe('the trace of a request', () => {
  it('is the caller’s, with the gateway’s span as the parent of its records', () => {
    const { traceparent } = traceOf(`00-${trace}-${caller}-01`, requestId, always)
    expect(traceparent).toBe(`00-${trace}-8def0123456789ab-01`)
  })

  it('is also read from later versions', () => {
    expect(traceOf(`cc-${trace}-${caller}-01-what-comes-later`, requestId).traceparent).toContain(trace)
  })

  it('is the request’s own without a header', () => {
    expect(traceOf(undefined, requestId, always)).toEqual({ traceparent: expect.stringMatching(own) as string })
  })

  it('is sampled by the gateway only, with any flag of the caller', () => {
    const header = `00-${trace}-${caller}-01`
    expect(traceOf(header, requestId).traceparent).toMatch(/-00$/)
    expect(traceOf(header, requestId, never).traceparent).toMatch(/-00$/)
    expect(traceOf(`00-${trace}-${caller}-00`, requestId, always).traceparent).toMatch(/-01$/)
  })

  it('asks for the decision with the trace id, and with the caller’s flag of a caller’s trace', () => {
    const asked: unknown[] = []
    const sample = (...given: unknown[]) => asked.push(given) > 0
    traceOf(`00-${trace}-${caller}-03`, requestId, sample)
    traceOf(`00-${trace}-${caller}-02`, requestId, sample)
    traceOf('nonsense', requestId, sample)
    expect(asked).toEqual([
      [trace, true],
      [trace, false],
      [requestId.replaceAll('-', ''), undefined],
    ])
  })

  it('has the caller’s span as the parent of the gateway’s, if the caller records it', () => {
    const callersOf = (flags: string) => traceOf(`00-${trace}-${caller}-${flags}`, requestId, always).callers
    expect(callersOf('01')).toBe(`00-${trace}-${caller}-01`)
    expect(callersOf('00')).toBeUndefined()
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
    expect(traceOf(header, requestId).traceparent).toMatch(own)
  })
})
