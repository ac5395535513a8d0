import { describe, expect, it } from 'vitest'
import { readDashboards } from '../read-dashboards.ts'
import { toGrafana } from './dashboard.ts'
import { DASHBOARDS } from './dashboards.ts'

const committed = readDashboards()

describe('the dashboards', () => {
  it.each(DASHBOARDS)('$name is committed as it is defined: pnpm dashboards', (dashboard) => {
    const json = committed.find(({ name }) => name === dashboard.name)?.json
    expect(json).toEqual(JSON.parse(JSON.stringify(toGrafana(dashboard))))
  })

  it('are these, and no others', () => {
    expect(committed.map(({ name }) => name).toSorted()).toEqual(DASHBOARDS.map(({ name }) => name).toSorted())
  })

  it.each(committed)('$name has panels with a title, a unit and a query, in reach of a reader', ({ json, panels }) => {
    const isComplete = ({ title, fieldConfig, targets = [] }: (typeof panels)[number]) =>
      Boolean(title) && Boolean(fieldConfig?.defaults.unit) && targets.length > 0
    expect(panels.filter((panel) => !isComplete(panel))).toEqual([])
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
    expect(panels.length).toBeLessThanOrEqual(20)
    expect(json.uid).toMatch(/^nextvisit-[a-z-]{1,30}$/)
  })

  it.each(committed)('$name asks only the chosen data source, and needs no plugin', ({ json, panels }) => {
    const sources = [...JSON.stringify(json).matchAll(/"datasource":\{[^}]*\}/g)].map(([source]) => source)
    expect(new Set(sources)).toEqual(new Set(['"datasource":{"type":"prometheus","uid":"${datasource}']))
    for (const { type } of panels) expect(['stat', 'timeseries', 'table']).toContain(type)
  })
})
