import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT_CONTEXT, type SpanContext, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { createOutageLog } from './outage-log.ts'
import { idsOf } from './trace-context.ts'
import { contextWithin, type EndedSpan, type Tracing } from './tracing.ts'
import type { TracingConfig } from './tracing-config.ts'

/** Spans that wait for the collector, or are on their way to it. A span takes about 2 KB. */
const MAX_QUEUED = 2_048
const MAX_BATCH = 512
const EXPORT_EVERY_MS = 2_000
/** Time for one batch, with the exporter's own retries. */
const EXPORT_WITHIN_MS = 5_000
const STOP_WITHIN_MS = 2_000
/** The wall clock may be set. Smaller differences stay: a child must not begin before its parent. */
const MAX_CLOCK_ERROR_MS = 20

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER } as const

interface OtlpTracingParts {
  readonly service: string
  readonly logger: Logger
  readonly metrics: Registry
}

/** Creates the recorder of spans, and their export over OTLP. Only `startTracing` imports this file, because it loads the SDK. */
export function createOtlpTracing(config: TracingConfig, { service, logger, metrics }: OtlpTracingParts): Tracing {
  const counted = createCounts(metrics)
  const queue = { length: 0 }
  const outage = createOutageLog(logger, {
    began: 'Traces cannot be exported; spans are dropped',
    ended: 'Traces can be exported again',
  })
  const exporter = new OTLPTraceExporter({
    url: config.url,
    headers: { ...config.headers },
    timeoutMillis: EXPORT_WITHIN_MS,
  })
  const watched: SpanExporter = {
    export: (spans, onResult) =>
      exporter.export(spans, (result) => {
        queue.length -= spans.length
        const isExported = result.error === undefined
        counted.inc({ outcome: isExported ? 'exported' : 'failed' }, spans.length)
        if (isExported) outage.end()
        else outage.begin({ err: result.error })
        onResult(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
  // A tracer asks for ids at the start of a span, which is synchronous.
  let next = { traceId: '', spanId: '' }
  const provider = new TracerProvider({
    sampler: new AlwaysOnSampler(),
    idGenerator: { generateTraceId: () => next.traceId, generateSpanId: () => next.spanId },
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.namespace': 'nextvisit',
        'service.name': service,
        'service.instance.id': `${hostname()}:${process.pid}`,
        ...config.resource,
      }),
    ),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: watched,
        // The queue has its limit here, where a span is not even created.
        maxQueueSize: 2 * MAX_QUEUED,
        maxExportBatchSize: MAX_BATCH,
        scheduledDelayMillis: EXPORT_EVERY_MS,
        exportTimeoutMillis: EXPORT_WITHIN_MS + 1_000,
      }),
    ],
  })
  const tracer = provider.getTracer('nextvisit')
  const epochMsOf = createClock()

  function record({ name, kind, causes, context, beganAt, endedAt, attributes, error }: EndedSpan): void {
    if (queue.length >= MAX_QUEUED) return counted.inc({ outcome: 'dropped' })
    queue.length += 1
    next = idsOf(context ?? contextWithin(causes))
    const [parent, ...others] = causes
    const isChild = parent !== undefined && others.length === 0
    const isLinked = others.length > 0 || kind === 'consumer'
    const span = tracer.startSpan(
      name,
      {
        kind: KINDS[kind],
        startTime: epochMsOf(beganAt),
        attributes: { ...attributes, ...(error !== undefined && { 'error.type': error }) } as Record<string, string>,
        links: isLinked ? causes.map((cause) => ({ context: remoteContextOf(cause) })) : [],
      },
      isChild ? trace.setSpanContext(ROOT_CONTEXT, remoteContextOf(parent)) : ROOT_CONTEXT,
    )
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(epochMsOf(endedAt))
  }

  return {
    record,
    stop: async () => {
      const stopped = provider.shutdown().catch(() => undefined)
      await Promise.race([stopped, sleep(STOP_WITHIN_MS, undefined, { ref: false })])
    },
  }
}

function createCounts(registry: Registry) {
  const spans = new Counter({
    name: 'nextvisit_trace_spans_total',
    help: 'Spans of sampled requests: exported, failed (the collector did not take them), or dropped, because too many waited for the collector',
    labelNames: ['outcome'],
    registers: [registry],
  })
  for (const outcome of ['exported', 'failed', 'dropped']) spans.inc({ outcome }, 0)
  return spans
}

function remoteContextOf(traceparent: string): SpanContext {
  return { ...idsOf(traceparent), traceFlags: TraceFlags.SAMPLED, isRemote: true }
}

/** Returns a function from `performance.now()` instants to ms since the epoch. */
function createClock(): (at: number) => number {
  let offsetMs = performance.timeOrigin
  return (at) => {
    const current = Date.now() - performance.now()
    if (Math.abs(current - offsetMs) > MAX_CLOCK_ERROR_MS) offsetMs = current
    return offsetMs + at
  }
}
