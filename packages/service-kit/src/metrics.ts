import type { PublisherOptions } from '@nextvisit/log'
import {
  collectDefaultMetrics,
  Histogram,
  type HistogramConfiguration,
  type OpenMetricsContentType,
  Registry,
} from 'prom-client'
import { exemplarOf } from './trace-context.ts'
import { createPublishTracing } from './publish-tracing.ts'
import type { Tracing } from './tracing.ts'

const DAY_MS = 86_400_000
/** Metrics that need samples of the event loop's delay. `nodejs_eventloop_lag_seconds` needs none and stays. */
const SAMPLED = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map((of) => `nodejs_eventloop_lag_${of}_seconds`)

/**
 * Creates a service's Prometheus registry with the metrics of the process. The event loop's delay is not sampled: a sample
 * every 10 ms is most of the cost of an idle process (performance.md, Idle). `isTraced`: histograms have exemplars, which only
 * OpenMetrics has a place for.
 */
export function createMetrics(service: string, { isTraced = false }: { readonly isTraced?: boolean } = {}): Registry {
  const registry = new Registry()
  // The library's types fix the format of a registry when it is created.
  if (isTraced)
    (registry as unknown as Registry<OpenMetricsContentType>).setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  registry.setDefaultLabels({ service })
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: DAY_MS })
  for (const name of SAMPLED) registry.removeSingleMetric(name)
  return registry
}

/** Creates a histogram. Its buckets show the latest sampled trace as an exemplar if the registry has a place for it. */
export function createHistogram<Label extends string>(
  registry: Registry,
  configuration: Omit<HistogramConfiguration<Label>, 'registers' | 'enableExemplars'>,
) {
  const enableExemplars = hasExemplars(registry)
  const histogram = new Histogram<Label>({ ...configuration, enableExemplars, registers: [registry] })
  return {
    observe: (labels: Partial<Record<Label, string>>, value: number, traceparent?: string): void => {
      if (!enableExemplars) return histogram.observe(labels, value)
      // The library takes any labels of an exemplar; its types know only those of the metric.
      histogram.observe({ labels, value, exemplarLabels: exemplarOf(traceparent) as Partial<Record<Label, string>> })
    },
    zero: (labels: Partial<Record<Label, string>>): void => histogram.zero(labels),
  }
}

/** Returns true for the registry of a process that exports traces. */
export function hasExemplars({ contentType }: { readonly contentType: string }): boolean {
  return contentType === Registry.OPENMETRICS_CONTENT_TYPE
}

/** Creates the metrics and the spans of a publisher's requests to Kafka, as its `onRequest`. */
export function createPublishMetrics(
  registry: Registry,
  tracing?: Tracing,
): NonNullable<PublisherOptions['onRequest']> {
  const durations = createHistogram(registry, {
    name: 'nextvisit_publish_seconds',
    help: 'From sending a request to Kafka to its answer; one is under way at a time',
    labelNames: ['outcome'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5],
  })
  const batchRecords = createHistogram(registry, {
    name: 'nextvisit_publish_batch_records',
    help: 'Records in one request to Kafka',
    buckets: [1, 3, 10, 30, 100, 300, 1_000],
  })
  for (const outcome of ['acknowledged', 'failed']) durations.zero({ outcome })
  const trace = tracing && createPublishTracing(tracing)
  return (request) => {
    const context = trace?.(request)
    durations.observe(
      { outcome: request.isAcknowledged ? 'acknowledged' : 'failed' },
      request.durationMs / 1_000,
      context,
    )
    batchRecords.observe({}, request.sent.length)
  }
}
