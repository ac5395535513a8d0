import { parser } from '@prometheus-io/lezer-promql'
import { baseOf, type ExportedMetrics } from './exposition.ts'

/** A query, and the alert or panel that it is of. */
export interface UsedQuery {
  readonly of: string
  readonly query: string
}

interface Selectors {
  readonly selectors: readonly { readonly metric: string; readonly labels: readonly string[] }[]
  /** Labels of `by`, `on` and `group_left`. */
  readonly grouping: readonly string[]
  /** Labels that `label_replace` makes. */
  readonly made: readonly string[]
}

/** Parses a query. Throws if its syntax is wrong. */
export function selectorsIn(query: string): Selectors {
  const [selectors, grouping, made]: [Selectors['selectors'][number][], string[], string[]] = [[], [], []]
  parser.parse(query).iterate({
    enter: (node) => {
      const text = query.slice(node.from, node.to)
      const all = (name: string) => node.node.getChildren(name).map(({ from, to }) => query.slice(from, to))
      if (node.type.isError) throw new SyntaxError(`Not PromQL at ${node.from}: ${query}`)
      if (node.name === 'VectorSelector') {
        const matchers = node.node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []
        const labels = matchers.flatMap(({ firstChild }) =>
          firstChild ? query.slice(firstChild.from, firstChild.to) : [],
        )
        selectors.push({ metric: all('Identifier')[0] ?? '', labels })
      }
      if (node.name === 'GroupingLabels') grouping.push(...all('LabelName'))
      if (node.name === 'FunctionCall' && text.startsWith('label_replace(')) made.push(/"(\w+)"/.exec(text)?.[1] ?? '')
    },
  })
  return { selectors, grouping, made }
}

interface KnownMetrics {
  readonly exported: ExportedMetrics
  /** Labels by metric, for those without a sample. */
  readonly documented: ReadonlyMap<string, ReadonlySet<string>>
  readonly recorded: ReadonlySet<string>
}

/** Labels that Prometheus gives to every sample. */
const OF_TARGETS = ['job', 'instance']
/** Series that Prometheus makes. The label `service` of targets: monitor.md. */
const OF_PROMETHEUS = new Map([
  ['up', ['service']],
  ['ALERTS', ['alertname', 'alertstate', 'severity', 'service', 'store', 'organization', 'project', 'endpoint']],
])

/** Returns the metrics and labels of a query that do not exist. */
export function missingIn({ of, query }: UsedQuery, known: KnownMetrics): readonly string[] {
  const { selectors, grouping, made } = selectorsIn(query)
  const labelsOf = (metric: string): readonly string[] | undefined => {
    if (known.recorded.has(metric)) return ['service']
    const name = known.exported.has(metric) ? metric : baseOf(metric)
    const exported = known.exported.get(name)
    if (!exported) return OF_PROMETHEUS.get(metric)
    const ofBucket = exported.type === 'histogram' && metric.endsWith('_bucket') ? ['le'] : []
    return [...exported.labels, ...(known.documented.get(name) ?? []), ...ofBucket]
  }
  const missing = selectors.flatMap(({ metric, labels }) => {
    const own = labelsOf(metric)
    if (!own) return metric
    return labels.filter((label) => ![...own, ...OF_TARGETS].includes(label)).map((label) => `${metric}{${label}}`)
  })
  const all = [...OF_TARGETS, ...made, ...selectors.flatMap(({ metric }) => labelsOf(metric) ?? [])]
  return [...missing, ...grouping.filter((label) => !all.includes(label))].map((name) => `${of}: ${name}`)
}
