import { Form } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { periodOf, stateOf, stoppedOf } from './form-summary.ts'

const [EARLY, LATE] = ['2026-11-22T10:00:00.000Z', '2026-11-23T09:30:00.000Z']

describe('stoppedOf', () => {
  it('adds up processes, and sorts gates by how often they stopped the form', () => {
    const processes = [
      { since: EARLY, forms: [{}, { 'too-soon': 1, 'not-in-audience': 2 }] },
      undefined,
      { since: LATE, forms: [{ 'too-soon': 100 }, { 'not-in-audience': 5 }] },
    ]
    expect(stoppedOf(processes, 1)).toEqual([
      { reason: 'not-in-audience', words: 'the user was not in the audience', count: 7 },
      { reason: 'too-soon', words: 'the user has had the form too recently', count: 1 },
    ])
  })
})

describe('periodOf', () => {
  it('starts with the oldest count, and is complete from the start of the youngest process', () => {
    const processes = [{ since: LATE, forms: [] }, { since: EARLY, forms: [] }, undefined]
    const period = { since: EARLY, completeSince: LATE, processes: 3, answering: 2 }
    expect(periodOf(processes, 24, Date.parse(EARLY) + 24 * 3_600_000)).toEqual({ ...period, isWhole: true })
    expect(periodOf(processes, 24, Date.parse(LATE))).toEqual({ ...period, isWhole: false })
  })

  it('is unknown if no process answers', () => {
    expect(periodOf([undefined], 1, 0)).toBeUndefined()
  })
})

describe('stateOf', () => {
  const nowMs = Date.parse('2026-11-23T10:00:00+01:00')
  it.each([
    ['live', {}],
    ['live', { startsAt: '2026-11-23T10:00:00+01:00', endsAt: '2026-11-23T09:00:01Z' }],
    ['disabled', { enabled: false, endsAt: '2026-01-01T00:00:00Z' }],
    ['not-yet', { startsAt: '2026-11-23T09:00:01Z' }],
    ['over', { endsAt: '2026-11-23T09:00:00Z' }],
  ])('is %s for %o', (state, settings) => {
    expect(stateOf(Form.parse({ id: 'nps', ...settings }), nowMs)).toBe(state)
  })

  it('is gone if the workspace does not contain the form', () => {
    expect(stateOf(undefined, nowMs)).toBe('gone')
  })
})
