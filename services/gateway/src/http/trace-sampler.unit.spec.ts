import { randomUUIDv7 } from 'node:crypto'
import { type EnvironmentVariables, readConfig } from '@nextvisit/service-kit'
import { describe, expect, it } from 'vitest'
import { createTraceSampler, type SamplerOptions, samplerConfig } from './trace-sampler.ts'

const DEFAULTS: SamplerOptions = { isParentBased: true, ratio: 1, maxPerSecond: 50 }
const read = (env: EnvironmentVariables) => readConfig(samplerConfig, env).sampler
const traceId = () => randomUUIDv7().replaceAll('-', '')

function givenSampler(options: Partial<SamplerOptions> = {}) {
  const clock = { nowMs: 0 }
  const sample = createTraceSampler({ ...DEFAULTS, maxPerSecond: Infinity, ...options }, () => clock.nowMs)
  const countOf = (requests: number, isCallers?: boolean) =>
    Array.from({ length: requests }, () => sample(traceId(), isCallers)).filter(Boolean).length
  return { clock, sample, countOf }
}

describe('the sampler', () => {
  it('samples a ratio of the traces that begin at the gateway, the same ones in each gateway', () => {
    const { countOf } = givenSampler({ ratio: 0.1 })
    expect(countOf(20_000)).toBeGreaterThan(1_600)
    expect(countOf(20_000)).toBeLessThan(2_400)
    const [one, other] = [givenSampler({ ratio: 0.5 }), givenSampler({ ratio: 0.5 })]
    const ids = Array.from({ length: 100 }, traceId)
    const decided = ({ sample }: typeof one) => ids.map((id) => sample(id, undefined))
    expect(decided(one)).toEqual(decided(other))
  })

  it('follows the caller’s flag if it is parent-based', () => {
    const { countOf } = givenSampler({ ratio: 0 })
    expect(countOf(10, true)).toBe(10)
    expect(givenSampler().countOf(10, false)).toBe(0)
  })

  it('ignores the caller’s flag otherwise', () => {
    expect(givenSampler({ isParentBased: false, ratio: 0 }).countOf(10, true)).toBe(0)
    expect(givenSampler({ isParentBased: false }).countOf(10, false)).toBe(10)
  })

  it.each([true, false])('samples no more in a second than its bound, parent-based: %s', (isParentBased) => {
    const { clock, countOf } = givenSampler({ isParentBased, maxPerSecond: 5 })
    expect(countOf(100, true)).toBe(5)
    clock.nowMs = 999
    expect(countOf(100, true)).toBe(0)
    clock.nowMs = 1_000
    expect(countOf(100, true)).toBe(5)
  })

  it('gives callers’ traces no room of those that begin at the gateway', () => {
    const { countOf } = givenSampler({ maxPerSecond: 5 })
    expect(countOf(100, true)).toBe(5)
    expect(countOf(100)).toBe(5)
  })
})

describe('the variables of the sampler', () => {
  it('have the defaults of OpenTelemetry, and a bound', () => {
    expect(read({})).toEqual(DEFAULTS)
  })

  it.each([
    ['always_on', false, 1],
    ['always_off', false, 0],
    ['traceidratio', false, 0.25],
    ['parentbased_always_on', true, 1],
    ['parentbased_always_off', true, 0],
    ['parentbased_traceidratio', true, 0.25],
  ])('name the samplers of OpenTelemetry: %s', (name, isParentBased, ratio) => {
    const sampler = read({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: '0.25' })
    expect(sampler).toMatchObject({ isParentBased, ratio })
  })

  it.each([
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_TRACES_SAMPLER_ARG', 'some'],
    ['GATEWAY_MAX_TRACES_PER_SECOND', '0'],
  ])('are refused by name: %s %s', (name, value) => {
    expect(() => read({ [name]: value })).toThrow(`${name} is wrong`)
  })
})
