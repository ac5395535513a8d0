/** Metrics of a running stack: their labels, as far as there are samples. A histogram has the name without `_bucket`, and no `le`. */
export type ExportedMetrics = ReadonlyMap<string, { readonly type: string; readonly labels: ReadonlySet<string> }>

const TYPE = /^# TYPE (\S+) (\S+)$/
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+/
const LABEL = /(\w+)="(?:[^"\\]|\\.)*"/g

/** Parses scrapes of several processes. */
export function readExposition(texts: readonly string[]): ExportedMetrics {
  const metrics = new Map<string, { readonly type: string; readonly labels: Set<string> }>()
  for (const line of texts.flatMap((text) => text.split('\n'))) {
    const [, typed, type = ''] = TYPE.exec(line) ?? []
    if (typed !== undefined && !metrics.has(typed)) metrics.set(typed, { type, labels: new Set() })
    const [, name = '', labels = ''] = SAMPLE.exec(line) ?? []
    const metric = metrics.get(name) ?? metrics.get(baseOf(name))
    for (const [, label = ''] of labels.matchAll(LABEL)) if (label !== 'le') metric?.labels.add(label)
  }
  return metrics
}

/** Returns the name of the histogram or summary that a series belongs to. */
export function baseOf(series: string): string {
  return series.replace(/_(?:bucket|sum|count)$/, '')
}
