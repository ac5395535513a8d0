import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

const DAY_MS = 86_400_000
/** Metrics that need samples of the event loop's delay. `nodejs_eventloop_lag_seconds` needs none and stays. */
const SAMPLED = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map((of) => `nodejs_eventloop_lag_${of}_seconds`)

/**
 * Creates a service's Prometheus registry with the metrics of the process. The event loop's delay is not sampled: a sample
 * every 10 ms is most of the cost of an idle process (performance.md, Idle).
 */
export function createMetrics(service: string): Registry {
  const registry = new Registry()
  registry.setDefaultLabels({ service })
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: DAY_MS })
  for (const name of SAMPLED) registry.removeSingleMetric(name)
  return registry
}

/** Creates the metrics of a publisher's requests to Kafka, as its `onRequest`. */
export function createPublishMetrics(registry: Registry) {
  const durations = new Histogram({
    name: 'nextvisit_publish_seconds',
    help: 'From sending a request to Kafka to its answer; one is under way at a time',
    labelNames: ['outcome'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5],
    registers: [registry],
  })
  const batchRecords = new Histogram({
    name: 'nextvisit_publish_batch_records',
    help: 'Records in one request to Kafka',
    buckets: [1, 3, 10, 30, 100, 300, 1_000],
    registers: [registry],
  })
  for (const outcome of ['acknowledged', 'failed']) durations.zero({ outcome })
  return (request: {
    readonly records: number
    readonly durationMs: number
    readonly isAcknowledged: boolean
  }): void => {
    durations.observe({ outcome: request.isAcknowledged ? 'acknowledged' : 'failed' }, request.durationMs / 1_000)
    batchRecords.observe(request.records)
  }
}
