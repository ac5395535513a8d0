export interface MetricSample {
  readonly name: string
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g

/** The samples of these names in a text of Prometheus. Lines of others cost little: most of a scrape is not asked for. */
export function parseMetrics(text: string, names: ReadonlySet<string>): readonly MetricSample[] {
  return text.split('\n').flatMap((line) => {
    if (line.startsWith('#')) return []
    const end = line.search(/[{ ]/)
    const name = line.slice(0, end)
    if (end < 0 || !names.has(name)) return []
    const labelsEnd = line.charAt(end) === '{' ? line.lastIndexOf('}') + 1 : end
    const value = Number(line.slice(labelsEnd).trim().split(' ')[0])
    if (!Number.isFinite(value)) return []
    const labels = [...line.slice(end, labelsEnd).matchAll(LABEL)]
    return [{ name, labels: new Map(labels.map(([, label = '', of = '']) => [label, of])), value }]
  })
}
