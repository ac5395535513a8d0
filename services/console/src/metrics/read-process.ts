/** Metrics of one process in one scrape. */
export interface ProcessReading {
  /** Cumulative since the process started. By `kind:name`, such as `answer:202`, `le:0.05`, `record:EventTracked`. */
  readonly counters: ReadonlyMap<string, number>
  /** The partitions that it owns. */
  readonly partitions: ReadonlyMap<number, PartitionReading>
  readonly deadLetters: number | null
  readonly outboxSeconds: number | null
  readonly catalogProblems: number
  /** Projects whose signing secret it cannot decrypt, by the id of the missing key, or `damaged`. */
  readonly undecryptableSecrets: ReadonlyMap<string, number>
  /** Services whose calls fail fast. */
  readonly openBreakers: readonly string[]
}

export interface PartitionReading {
  readonly lagSeconds: number
  readonly lagRecords: number
  readonly isHalted: boolean
  readonly stalledSeconds: number
  readonly ticksFailingSeconds: number
}

/** By metric: the kind of its counters, and the label with their names. */
const COUNTERS: ReadonlyMap<string, { readonly kind: CounterKind; readonly label: string }> = new Map([
  ['nextvisit_gateway_records_total', { kind: 'record', label: 'type' }],
  ['nextvisit_gateway_request_seconds_count', { kind: 'answer', label: 'status' }],
  ['nextvisit_gateway_request_seconds_bucket', { kind: 'le', label: 'le' }],
  ['nextvisit_gateway_refusals_total', { kind: 'refusal', label: 'reason' }],
  ['nextvisit_gateway_unchecked_total', { kind: 'unchecked', label: 'check' }],
])
export type CounterKind = 'record' | 'answer' | 'le' | 'refusal' | 'unchecked'

const BREAKER = 'nextvisit_gateway_breaker_open'
const CATALOG_PROBLEMS = 'nextvisit_catalog_problems'
const UNDECRYPTABLE_SECRETS = 'nextvisit_gateway_undecryptable_secrets'
const DEAD_LETTERS = 'projection_dead_letters'
const OUTBOX = 'projection_outbox_seconds'
const PARTITION_GAUGES = {
  lagSeconds: 'projection_lag_seconds',
  lagRecords: 'projection_lag_records',
  halted: 'projection_halted',
  stalledSeconds: 'projection_stalled_seconds',
  ticksFailingSeconds: 'projection_ticks_failing_seconds',
}
const NAMES = new Set([
  ...COUNTERS.keys(),
  ...Object.values(PARTITION_GAUGES),
  BREAKER,
  CATALOG_PROBLEMS,
  UNDECRYPTABLE_SECRETS,
  DEAD_LETTERS,
  OUTBOX,
])

/** Parses a scrape. Missing metrics, such as a consumer's in the gateway, give empty or null members. */
export function readProcess(text: string): ProcessReading {
  const byName = Map.groupBy(parseMetrics(text, NAMES), ({ name }) => name)
  const samples = (name: string): readonly MetricSample[] => byName.get(name) ?? []
  return {
    counters: countersOf([...COUNTERS.keys()].flatMap(samples)),
    partitions: partitionsOf(samples),
    deadLetters: sumOf(samples(DEAD_LETTERS)),
    outboxSeconds: sumOf(samples(OUTBOX)),
    catalogProblems: sumOf(samples(CATALOG_PROBLEMS)) ?? 0,
    undecryptableSecrets: new Map(
      samples(UNDECRYPTABLE_SECRETS).map(({ labels, value }) => [labels.get('key') ?? '', value]),
    ),
    openBreakers: samples(BREAKER).flatMap(({ labels, value }) => (value === 1 ? (labels.get('breaker') ?? []) : [])),
  }
}

function countersOf(samples: readonly MetricSample[]): ReadonlyMap<string, number> {
  const counters = new Map<string, number>()
  for (const { name, labels, value } of samples) {
    const counter = COUNTERS.get(name)
    const counterName = counter && labels.get(counter.label)
    if (counterName === undefined) continue
    const key = `${counter?.kind}:${counterName}`
    counters.set(key, (counters.get(key) ?? 0) + value)
  }
  return counters
}

function partitionsOf(samples: (name: string) => readonly MetricSample[]): ReadonlyMap<number, PartitionReading> {
  const gauge = (name: string): ReadonlyMap<number, number> =>
    new Map(samples(name).map(({ labels, value }) => [Number(labels.get('partition')), value]))
  const lagRecords = gauge(PARTITION_GAUGES.lagRecords)
  const halted = gauge(PARTITION_GAUGES.halted)
  const stalled = gauge(PARTITION_GAUGES.stalledSeconds)
  const ticksFailing = gauge(PARTITION_GAUGES.ticksFailingSeconds)
  return new Map(
    Array.from(gauge(PARTITION_GAUGES.lagSeconds), ([partition, lagSeconds]) => [
      partition,
      {
        lagSeconds,
        lagRecords: lagRecords.get(partition) ?? 0,
        isHalted: halted.get(partition) === 1,
        stalledSeconds: stalled.get(partition) ?? 0,
        ticksFailingSeconds: ticksFailing.get(partition) ?? 0,
      },
    ]),
  )
}

function sumOf(samples: readonly MetricSample[]): number | null {
  return samples.length === 0 ? null : samples.reduce((sum, { value }) => sum + value, 0)
}

interface MetricSample {
  readonly name: string
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g

/** Parses the samples of these names in Prometheus' text format. Skips other lines cheaply: they are most of a scrape. */
function parseMetrics(text: string, names: ReadonlySet<string>): readonly MetricSample[] {
  return text.split('\n').flatMap((line) => {
    if (line.startsWith('#')) return []
    const end = line.search(/[{ ]/)
    const name = line.slice(0, end)
    if (end < 0 || !names.has(name)) return []
    const labelsEnd = line.charAt(end) === '{' ? line.lastIndexOf('}') + 1 : end
    const value = Number(line.slice(labelsEnd).trim().split(' ')[0])
    if (!Number.isFinite(value)) return []
    const labels = [...line.slice(end, labelsEnd).matchAll(LABEL)]
    return [{ name, labels: new Map(labels.map(([, label = '', labelValue = '']) => [label, labelValue])), value }]
  })
}
