import { mapLimits, type UsageAnswer } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { projectUsageOf } from './limit-lines.ts'

const NOTHING = mapLimits('usage', () => 0)
const PLAN = { eventsPerMonth: 1_000, monthlyActiveUsers: 100, uniqueEvents: 50, uniqueTraits: 20 }
const at = (day: number, hour = 0, minute = 0) => Date.UTC(2026, 10, day, hour, minute)

function linesAt(
  nowMs: number,
  used: Partial<UsageAnswer>,
  { plan = PLAN, before = {} }: { readonly plan?: Partial<typeof PLAN>; readonly before?: Partial<UsageAnswer> } = {},
) {
  const usage = { month: '2026-11', ...NOTHING, ...used }
  return projectUsageOf({ plan, usage, before: { month: '2026-10', ...NOTHING, ...before }, nowMs }).limits
}
const named = (name: string, lines: ReturnType<typeof linesAt>) => lines.find((line) => line.name === name)
const limitsOf = (plan: Partial<typeof PLAN>) => linesAt(at(16), {}, { plan }).map(({ limit, setBy }) => [limit, setBy])
const eventsAt = (nowMs: number, events: number, lastMonth = 0) =>
  named('eventsPerMonth', linesAt(nowMs, { events }, { before: { events: lastMonth } }))
const traitsAt = (nowMs: number, uniqueTraits: number, before: number) =>
  named('uniqueTraits', linesAt(nowMs, { uniqueTraits }, { before: { uniqueTraits: before } }))

describe('the limits of a project', () => {
  it('are the organization’s events, and the project’s own users and names', () => {
    expect(linesAt(at(16), {}).map(({ name, of, limit, setBy }) => [name, of, limit, setBy])).toEqual([
      ['eventsPerMonth', 'organization', 1_000, 'plan'],
      ['monthlyActiveUsers', 'project', 100, 'plan'],
      ['uniqueEvents', 'project', 50, 'plan'],
      ['uniqueTraits', 'project', 20, 'plan'],
    ])
  })

  it('are the bounds of every project if the plan has none, or a higher one (decisions.md, Bounds)', () => {
    expect(limitsOf({})).toEqual([
      [null, null],
      [null, null],
      [10_000, 'bound'],
      [5_000, 'bound'],
    ])
    expect(limitsOf({ uniqueEvents: 1_000_000, uniqueTraits: 5_000 }).slice(2)).toEqual([
      [10_000, 'bound'],
      [5_000, 'plan'],
    ])
  })

  it('include the forecast, and its distance from the end of the month', () => {
    expect(eventsAt(at(16), 550)?.words).toBe(
      'At this rate it will be reached on 28 November, 2 days before the month ends.',
    )
    expect(eventsAt(at(16), 510)?.words).toBe(
      'At this rate it will be reached on 30 November, the last day of the month.',
    )
    expect(eventsAt(at(16), 940)?.words).toBe(
      'At this rate it will be reached on 16 November at about 22:00 UTC, 14 days before the month ends.',
    )
    expect(eventsAt(at(16), 400)?.words).toBe(
      'Not this month: at this rate it will be about 800 at the end of the month.',
    )
    expect(eventsAt(at(16), 0)?.words).toBe('Not reached at this rate: nothing was added this month.')
    expect(eventsAt(at(16), 1_000)?.words).toBe(
      'Reached: events with a production key are refused (402) until 1 December.',
    )
  })

  it('forecast names from those added this month, and beyond its end', () => {
    expect(traitsAt(at(16), 15, 10)).toMatchObject({
      used: 15,
      added: 5,
      words: 'At this rate it will be reached on 1 December.',
      outlook: 'warning',
    })
    expect(traitsAt(at(16), 12, 10)?.words).toBe('At this rate it will be reached on 15 January 2027.')
    expect(traitsAt(at(16), 12, 10)?.outlook).toBe('good')
    expect(traitsAt(at(16), 20, 20)?.words).toBe('Reached: new traits are dropped from records. Known ones pass.')
  })

  it('are rough while the month is young, and then include last month’s rate', () => {
    expect(eventsAt(at(1, 14), 10, 3_100)?.words).toBe(
      'Not this month: at this rate it will be about 514 at the end of the month. ' +
        "This is a rough estimate: the month is 14 hours old. At last month's rate it will be reached on 11 November.",
    )
    expect(eventsAt(at(2), 100, 310)?.words).toBe(
      'At this rate it will be reached on 11 November, 20 days before the month ends. ' +
        "This is a rough estimate: the month is 1 day old. At last month's rate it will not be reached this month.",
    )
    expect(eventsAt(at(1, 0, 20), 10, 0)?.words).toBe('The month is 20 minutes old: too early to tell.')
    expect(eventsAt(at(1, 0, 20), 10, 310)?.words).toBe(
      "The month is 20 minutes old: too early to tell. At last month's rate it will not be reached this month.",
    )
    expect(eventsAt(at(16), 400, 3_100)?.words).not.toContain('rough')
  })

  it('warn if they will be reached within a month, or are nearly used', () => {
    expect([
      eventsAt(at(16), 400)?.outlook,
      eventsAt(at(16), 600)?.outlook,
      eventsAt(at(30), 910)?.outlook,
      eventsAt(at(16), 1_000)?.outlook,
    ]).toEqual(['good', 'warning', 'warning', 'reached'])
  })
})
