import { describe, expect, it } from 'vitest'
import { exemplarOf, isSampled, MAX_LINKS, sampledContexts, traceFields } from './trace-context.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const context = (span: number, flags = '01') => `00-${TRACE}-${span.toString(16).padStart(16, '0')}-${flags}`

describe('a traceparent', () => {
  it.each(['01', '03', 'ff'])('is sampled by the last bit of its flags: %s', (flags) => {
    expect(isSampled(context(1, flags))).toBe(true)
  })

  it.each([
    undefined,
    '',
    context(1, '00'),
    context(1, '02'),
    context(0),
    `${context(1)}-more`,
    `${'x'.repeat(54)}1`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
  ])('is not sampled if it says so, or if it is none: %j', (traceparent) => {
    expect(isSampled(traceparent)).toBe(false)
    expect(traceFields(traceparent)).toEqual({})
    expect(exemplarOf(traceparent)).toEqual({})
  })

  it('gives its ids to log lines and exemplars', () => {
    expect(traceFields(context(1))).toEqual({ trace_id: TRACE })
    expect(exemplarOf(context(1))).toEqual({ trace_id: TRACE, span_id: '0000000000000001' })
  })
})

describe('the sampled contexts of records', () => {
  it('are distinct', () => {
    expect(sampledContexts([context(1), undefined, context(2, '00'), context(3), context(1)])).toEqual([
      context(1),
      context(3),
    ])
  })

  it('are at most as many as a span has links', () => {
    const contexts = Array.from({ length: 500 }, (_, span) => context(span + 1))
    expect(sampledContexts(contexts)).toEqual(contexts.slice(0, MAX_LINKS))
  })
})
