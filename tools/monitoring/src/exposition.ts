/** Metrics of a running stack: their labels, as far as there are samples. A histogram has the name without `_bucket`, and no `le`. */
export type ExportedMetrics = ReadonlyMap<string, { readonly type: string; readonly labels: ReadonlySet<string> }>

const TYPE = /^# TYPE (\S+) (\S+)$/
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? \S+/
/** The end of OpenMetrics, where the type of a counter has the name without `_total`. */
const END = '# EOF'
const LABEL = /(\w+)="(?:[^"\\]|\\.)*"/g

/** Parses scrapes of several processes. */
export function readExposition(texts: readonly string[]): ExportedMetrics {
  const metrics = new Map<string, { readonly type: string; readonly labels: Set<string> }>()
  for (const line of texts.flatMap(linesOf)) {
    const [, typed, type = ''] = TYPE.exec(line) ?? []
    if (typed !== undefined && !metrics.has(typed)) metrics.set(typed, { type, labels: new Set() })
    const [, name = '', labels = ''] = SAMPLE.exec(line) ?? []
    const metric = metrics.get(name) ?? metrics.get(baseOf(name))
    for (const [, label = ''] of labels.matchAll(LABEL)) if (label !== 'le') metric?.labels.add(label)
  }
  return metrics
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n')
  return lines.includes(END)
    ? lines.map((line) => line.replace(/^# TYPE (\S+) counter$/, '# TYPE $1_total counter'))
    : lines
}

/** Returns the name of the histogram or summary that a series belongs to. */
export function baseOf(series: string): string {
  return series.replace(/_(?:bucket|sum|count)$/, '')
}
