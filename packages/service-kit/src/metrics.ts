import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

/** A service's Prometheus registry, with the process's own metrics. */
export function createMetrics(service: string): Registry {
  const registry = new Registry()
  registry.setDefaultLabels({ service })
  collectDefaultMetrics({ register: registry })
  return registry
}

/** Metrics of a publisher's requests to Kafka, for its `onRequest`. */
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
  return (request: {
    readonly records: number
    readonly durationMs: number
    readonly isAcknowledged: boolean
  }): void => {
    durations.observe({ outcome: request.isAcknowledged ? 'acknowledged' : 'failed' }, request.durationMs / 1_000)
    batchRecords.observe(request.records)
  }
}
