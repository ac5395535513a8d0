import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { UsedQuery } from './queries.ts'
import { MONITORING } from './read-rules.ts'

export const DASHBOARD_FOLDER = path.join(MONITORING, 'dashboards')

interface GrafanaPanel {
  readonly type: string
  readonly title?: string
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
  readonly links?: readonly { readonly url: string }[]
  readonly targets?: readonly { readonly expr: string }[]
}

interface GrafanaDashboard {
  readonly uid: string
  readonly panels: readonly GrafanaPanel[]
  readonly templating: { readonly list: readonly { readonly definition?: string }[] }
}

export interface ReadDashboard {
  /** Name of the file, without its extension. */
  readonly name: string
  readonly json: GrafanaDashboard
  /** Panels other than rows. */
  readonly panels: readonly GrafanaPanel[]
  /** Of panels and variables, with values for the variables. */
  readonly queries: readonly UsedQuery[]
}

/** Reads the committed dashboards. */
export function readDashboards(): readonly ReadDashboard[] {
  return globSync('*.json', { cwd: DASHBOARD_FOLDER }).map((file) => {
    const json = JSON.parse(readFileSync(path.join(DASHBOARD_FOLDER, file), 'utf8')) as GrafanaDashboard
    const name = path.basename(file, '.json')
    const panels = json.panels.filter(({ type }) => type !== 'row')
    const queries = panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ of: `${name}: ${title}`, query: withValues(expr) })),
    )
    const ofVariables = json.templating.list.flatMap(({ definition }) => {
      const [, selector, label] = /^label_values\((.*), (\w+)\)$/.exec(definition ?? '') ?? []
      if (selector === undefined) return []
      return { of: `${name}: variable`, query: `count by (${label}) (${withValues(selector)})` }
    })
    return { name, json, panels, queries: [...queries, ...ofVariables] }
  })
}

/** Replaces variables as Grafana does. */
function withValues(query: string): string {
  return query.replaceAll(/\$__(?:rate_interval|range)/g, '5m').replaceAll(/\$\w+/g, '.*')
}
