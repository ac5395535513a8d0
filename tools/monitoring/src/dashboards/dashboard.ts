import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import * as common from '@grafana/grafana-foundation-sdk/common'
import * as sdk from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat'
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table'
import { PanelBuilder as GraphBuilder } from '@grafana/grafana-foundation-sdk/timeseries'

/** A value from which on a panel has this color. */
export type Limit = readonly [from: number, color: 'orange' | 'red']
/** A query, and the legend of its series. `$own` stands for the chosen jobs and instances. */
export type Query = readonly [expr: string, legend?: string]
/** Units of Grafana; `cps` are records a second. */
type Unit = 's' | 'short' | 'percentunit' | 'bytes' | 'reqps' | 'cps'

interface PanelParts {
  readonly queries: readonly Query[]
  readonly limits?: readonly Limit[]
  /** A page of the runbooks, and a heading. */
  readonly runbook?: string
}

/** A panel. All panels of a row have the same width. */
type Panel = (width: number) => Builder<sdk.Panel>

export interface Dashboard {
  /** Name of the file, and end of the `uid`. */
  readonly name: string
  readonly title: string
  readonly description: string
  /** Besides `job` and `instance`. */
  readonly variables?: readonly { readonly name: string; readonly label: string; readonly query: string }[]
  /** A row without a title continues the one above. */
  readonly rows: readonly { readonly title?: string; readonly panels: readonly Panel[] }[]
}

/** Operators replace it by the address of their console (monitor.md). */
export const CONSOLE = 'https://console.example.com'
const WIDTH = 24
const [STAT_HEIGHT, GRAPH_HEIGHT] = [4, 8]
const DATA_SOURCE = { type: 'prometheus', uid: '${datasource}' }
const OWN = 'job=~"$job", instance=~"$instance"'

/** Returns the limits of a panel whose value should be 0. */
export function anyIsBad(color: 'orange' | 'red'): readonly Limit[] {
  return [[1, color]]
}

/** Returns a panel with the present value of a query. */
export function stat(title: string, unit: Unit, { queries, limits, runbook }: PanelParts): Panel {
  return (width) => {
    const panel = new StatBuilder()
      .title(title)
      .unit(unit)
      .thresholds(thresholdsOf(limits, 'blue'))
      .colorMode(common.BigValueColorMode.Value)
      .graphMode(common.BigValueGraphMode.Area)
      .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']))
      .links(linksOf(runbook))
      .targets(targetsOf(queries))
    return inGrid(panel, width, STAT_HEIGHT)
  }
}

/** Returns a panel with a query over time. Limits are lines. */
export function graph(
  title: string,
  unit: Unit,
  { queries, limits, runbook, isStacked = false }: PanelParts & { readonly isStacked?: boolean },
): Panel {
  return (width) => {
    const { Dashed, Off } = common.GraphThresholdsStyleMode
    const panel = new GraphBuilder()
      .title(title)
      .unit(unit)
      .min(0)
      .fillOpacity(isStacked ? 20 : 0)
      .showPoints(common.VisibilityMode.Never)
      .stacking(
        new common.StackingConfigBuilder().mode(isStacked ? common.StackingMode.Normal : common.StackingMode.None),
      )
      .thresholds(thresholdsOf(limits, 'transparent'))
      .thresholdsStyle(new common.GraphThresholdsStyleConfigBuilder().mode(limits ? Dashed : Off))
      .legend(new common.VizLegendOptionsBuilder().showLegend(true).displayMode(common.LegendDisplayMode.List))
      .tooltip(new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi))
      .links(linksOf(runbook))
      .targets(targetsOf(queries))
    return inGrid(panel, width, GRAPH_HEIGHT)
  }
}

/** Returns a panel with the labels of the present series of a query. */
export function table(title: string, query: string, columns: readonly string[]): Panel {
  return (width) => {
    const indexByName = Object.fromEntries(columns.map((column, index) => [column, index]))
    const panel = new TableBuilder()
      .title(title)
      .unit('short')
      .noValue('none')
      .withTransformation({
        id: 'organize',
        options: { excludeByName: { Time: true, Value: true }, indexByName, renameByName: {} },
      })
      .withTarget(targetOf(query).format(PromQueryFormat.Table).instant().refId('A'))
    return inGrid(panel, width, GRAPH_HEIGHT)
  }
}

type Sized = Builder<sdk.Panel> & {
  readonly height: (height: number) => Sized
  readonly span: (width: number) => Sized
  readonly datasource: (source: typeof DATA_SOURCE) => Sized
}

function inGrid(panel: Sized, width: number, height: number): Builder<sdk.Panel> {
  return panel.datasource(DATA_SOURCE).height(height).span(width)
}

function targetsOf(queries: readonly Query[]): DataqueryBuilder[] {
  return queries.map(([expr, legend], index) => {
    const target = targetOf(expr)
      .range()
      .refId(String.fromCodePoint(65 + index))
    return legend === undefined ? target : target.legendFormat(legend)
  })
}

function targetOf(expr: string): DataqueryBuilder {
  return new DataqueryBuilder().datasource(DATA_SOURCE).expr(expr.replaceAll('$own', OWN))
}

function thresholdsOf(limits: readonly Limit[] = [], below: string): sdk.ThresholdsConfigBuilder {
  const base = limits.length > 0 && below !== 'transparent' ? 'green' : below
  const steps = limits.map(([value, color]) => ({ value, color }))
  return new sdk.ThresholdsConfigBuilder()
    .mode(sdk.ThresholdsMode.Absolute)
    .steps([{ value: null, color: base }, ...steps])
}

function linksOf(runbook: string | undefined): sdk.DashboardLinkBuilder[] {
  if (runbook === undefined) return []
  const url = `${CONSOLE}/runbooks/${runbook}`
  return [new sdk.DashboardLinkBuilder('Runbook').type(sdk.DashboardLinkType.Link).url(url).targetBlank(true)]
}

/** Returns the dashboard as Grafana imports it. */
export function toGrafana({ name, title, description, variables = [], rows }: Dashboard): sdk.Dashboard {
  const builder = new sdk.DashboardBuilder(title)
    .uid(`nextvisit-${name}`)
    .description(description)
    .tags(['nextvisit'])
    .time({ from: 'now-3h', to: 'now' })
    .refresh('30s')
    .tooltip(sdk.DashboardCursorSync.Crosshair)
    .link(
      new sdk.DashboardLinkBuilder('Nextvisit')
        .type(sdk.DashboardLinkType.Dashboards)
        .tags(['nextvisit'])
        .asDropdown(true)
        .includeVars(true)
        .keepTime(true),
    )
    .withVariable(new sdk.DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(variable('job', 'Job', 'label_values(nextvisit_catalog_problems, job)'))
    .withVariable(variable('instance', 'Instance', 'label_values(process_start_time_seconds{job=~"$job"}, instance)'))
  for (const own of variables) builder.withVariable(variable(own.name, own.label, own.query))
  for (const row of rows) {
    if (row.title !== undefined) builder.withRow(new sdk.RowBuilder(row.title))
    for (const panel of row.panels) builder.withPanel(panel(WIDTH / row.panels.length))
  }
  const { panels = [], links = [], ...built } = builder.build()
  // The schema of Grafana 10 and 11. Newer ones read it, too.
  return {
    ...built,
    schemaVersion: 39,
    links: withoutPlacement(links),
    panels: panels.map((panel, index) => ({
      ...panel,
      id: index + 1,
      ...('links' in panel && { links: withoutPlacement(panel.links ?? []) }),
    })),
  }
}

/** The builder puts links into a menu. */
function withoutPlacement(links: readonly sdk.DashboardLink[]): sdk.DashboardLink[] {
  return links.map(({ placement: _placement, ...link }) => link)
}

function variable(name: string, label: string, query: string): sdk.QueryVariableBuilder {
  return (
    new sdk.QueryVariableBuilder(name)
      .label(label)
      .datasource(DATA_SOURCE)
      .query({ query, refId: name })
      .definition(query)
      .refresh(sdk.VariableRefresh.OnTimeRangeChanged)
      // oxlint-disable-next-line unicorn/no-array-sort -- not of an array
      .sort(sdk.VariableSort.AlphabeticalAsc)
      .multi(true)
      .includeAll(true)
      .current({ selected: true, text: 'All', value: '$__all' })
  )
}
