import { describe, expect, it } from 'vitest'
import { createGateCounts, type StoppedForm } from './gate-counts.ts'

const HOUR_MS = 3_600_000
const START_MS = Date.parse('2026-11-02T10:00:00.000Z')
const shop = { organization: 'acme', project: 'shop' }

function givenCounts(maxEntries?: number) {
  let nowMs = START_MS
  const counts = createGateCounts(() => nowMs, maxEntries)
  return {
    stop: (formId: string, reason: StoppedForm['reason'], times = 1, project = 'shop') =>
      counts.add(Array.from({ length: times }, () => ({ ...shop, project, formId, reason }))),
    pass: (ms: number) => void (nowMs += ms),
    read: (hours: number, ...formIds: string[]) => counts.read({ ...shop, formIds, hours }),
  }
}

describe('the memory of gates that stopped forms', () => {
  it('counts by project, form and gate', () => {
    const { stop, read } = givenCounts()
    stop('nps', 'too-soon', 2)
    stop('nps', 'not-in-audience', 3)
    stop('nps', 'too-soon', 5, 'other')
    expect(read(24, 'nps', 'never')).toEqual({
      since: '2026-11-02T10:00:00.000Z',
      forms: [{ 'too-soon': 2, 'not-in-audience': 3 }, {}],
    })
  })

  it('returns the requested hours to ten minutes, and nothing older than a day', () => {
    const { stop, pass, read } = givenCounts()
    stop('nps', 'too-soon')
    pass(90 * 60_000)
    stop('nps', 'too-soon', 2)
    expect(read(1, 'nps')).toEqual({ since: '2026-11-02T10:30:00.000Z', forms: [{ 'too-soon': 2 }] })
    expect(read(2, 'nps')).toEqual({ since: '2026-11-02T10:00:00.000Z', forms: [{ 'too-soon': 3 }] })
    pass(24 * HOUR_MS)
    stop('other', 'too-soon')
    expect(read(24, 'nps')).toEqual({ since: '2026-11-02T11:30:00.000Z', forms: [{ 'too-soon': 2 }] })
    pass(HOUR_MS)
    expect(read(24, 'nps').forms).toEqual([{}])
  })

  it('drops the oldest slices first when there are too many forms, and returns the beginning of its counts', () => {
    const { stop, pass, read } = givenCounts(3)
    stop('a', 'too-soon')
    pass(HOUR_MS)
    stop('a', 'too-soon')
    stop('b', 'too-soon')
    stop('b', 'too-soon')
    expect(read(24, 'a', 'b')).toEqual({
      since: '2026-11-02T10:00:00.000Z',
      forms: [{ 'too-soon': 2 }, { 'too-soon': 2 }],
    })
    stop('c', 'too-soon')
    expect(read(24, 'a', 'c')).toEqual({
      since: '2026-11-02T11:00:00.000Z',
      forms: [{ 'too-soon': 1 }, { 'too-soon': 1 }],
    })
  })

  it('begins again when one slice alone is too large', () => {
    const { stop, pass, read } = givenCounts(2)
    for (const form of ['a', 'b']) stop(form, 'too-soon')
    pass(60_000)
    stop('c', 'too-soon')
    expect(read(24, 'a', 'b', 'c')).toEqual({ since: '2026-11-02T10:01:00.000Z', forms: [{}, {}, { 'too-soon': 1 }] })
  })
})
