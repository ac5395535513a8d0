import type { StepTaken } from '@nextvisit/domain'
import { describe, expect, it } from 'vitest'
import { createFormSteps } from './form-steps.ts'

const HOUR_MS = 3_600_000
const START_MS = Date.parse('2026-11-02T10:00:00.000Z')
const shop = { organization: 'acme', project: 'shop' }

function givenSteps(maxEntries?: number) {
  let nowMs = START_MS
  const steps = createFormSteps(() => nowMs, maxEntries)
  return {
    take: (formId: string, step: StepTaken['step'], times = 1, project = 'shop') =>
      steps.add(Array.from({ length: times }, () => ({ ...shop, project, formId, step }))),
    pass: (ms: number) => void (nowMs += ms),
    read: (hours: number, ...formIds: string[]) => steps.read({ ...shop, formIds, hours }),
  }
}

describe('the memory of form steps', () => {
  it('counts by project, form and step', () => {
    const { take, read } = givenSteps()
    take('nps', 'queued', 2)
    take('nps', 'not-in-audience', 3)
    take('nps', 'queued', 5, 'other')
    expect(read(24, 'nps', 'never')).toEqual({
      since: '2026-11-02T10:00:00.000Z',
      forms: [{ queued: 2, 'not-in-audience': 3 }, {}],
    })
  })

  it('returns the requested hours to ten minutes, and nothing older than a day', () => {
    const { take, pass, read } = givenSteps()
    take('nps', 'queued')
    pass(90 * 60_000)
    take('nps', 'queued', 2)
    expect(read(1, 'nps')).toEqual({ since: '2026-11-02T10:30:00.000Z', forms: [{ queued: 2 }] })
    expect(read(2, 'nps')).toEqual({ since: '2026-11-02T10:00:00.000Z', forms: [{ queued: 3 }] })
    pass(24 * HOUR_MS)
    take('other', 'queued')
    expect(read(24, 'nps')).toEqual({ since: '2026-11-02T11:30:00.000Z', forms: [{ queued: 2 }] })
    pass(HOUR_MS)
    expect(read(24, 'nps').forms).toEqual([{}])
  })

  it('drops the oldest slices first when there are too many forms, and returns the beginning of its counts', () => {
    const { take, pass, read } = givenSteps(3)
    take('a', 'queued')
    pass(HOUR_MS)
    take('a', 'queued')
    take('b', 'queued')
    take('b', 'queued')
    expect(read(24, 'a', 'b')).toEqual({ since: '2026-11-02T10:00:00.000Z', forms: [{ queued: 2 }, { queued: 2 }] })
    take('c', 'queued')
    expect(read(24, 'a', 'c')).toEqual({ since: '2026-11-02T11:00:00.000Z', forms: [{ queued: 1 }, { queued: 1 }] })
  })

  it('begins again when one slice alone is too large', () => {
    const { take, pass, read } = givenSteps(2)
    for (const form of ['a', 'b']) take(form, 'queued')
    pass(60_000)
    take('c', 'queued')
    expect(read(24, 'a', 'b', 'c')).toEqual({ since: '2026-11-02T10:01:00.000Z', forms: [{}, {}, { queued: 1 }] })
  })
})
