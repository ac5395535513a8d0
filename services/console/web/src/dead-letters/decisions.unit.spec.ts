import { expect, it } from 'vitest'
import { formatDecisions, isFailed, isNothing, parseDecisions } from './decisions.ts'

const AT = '2026-11-23T03:00:00.000Z'

it('decisions in an address tell the outcome of each consumer', () => {
  const text = formatDecisions([
    { service: 'metering', outcome: 'decided', count: 1, decidedAt: AT, isFull: false },
    { service: 'trait-registry', outcome: 'decided', count: 0, decidedAt: null, isFull: false },
    { service: 'user-projector', outcome: 'failed', message: 'user-projector does not answer.' },
  ])
  const decisions = parseDecisions(text)
  expect(decisions.map(({ service }) => service)).toEqual(['metering', 'trait-registry', 'user-projector'])
  expect(decisions.map((one) => [isNothing(one), isFailed(one)])).toEqual([
    [false, false],
    [true, false],
    [false, true],
  ])
  expect(decisions[0]?.decidedAt).toBe(AT)
})

it.each(['', 'metering', '~', 'a~b~c'])('an address with %j names no decision', (text) => {
  expect(parseDecisions(text)).toEqual([])
})
