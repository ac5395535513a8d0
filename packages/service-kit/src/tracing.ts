import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { ServicePart } from './run-service.ts'
import type { TracingConfig } from './tracing-config.ts'
import { idsOf } from './trace-context.ts'

/** A span that has ended. Attributes hold no data of people: no names, values, bodies, or URLs that contain one. */
export interface EndedSpan {
  readonly name: string
  readonly kind: 'server' | 'client' | 'consumer'
  /**
   * The sampled contexts that led to the span. A span of one context is its child. A span of several begins a trace of its own
   * and links to each, as does each `consumer` span.
   */
  readonly causes: readonly string[]
  /** The `traceparent` of the span, if others had to know it before: see {@link contextWithin}. Default: a new one. */
  readonly context?: string
  /** `performance.now()` instants. */
  readonly beganAt: number
  readonly endedAt: number
  readonly attributes: Readonly<Record<string, string | number | readonly string[]>>
  /** A failed span: the class of the error, of few values. */
  readonly error?: string | undefined
}

/** Records spans of sampled requests. Parts of a process have `undefined` instead if traces are not exported. */
export interface Tracing {
  /** Never throws and never waits: spans for which the queue has no room are dropped and counted. */
  readonly record: (span: EndedSpan) => void
  /** Exports the queue, for two seconds at most. */
  readonly stop: () => Promise<void>
}

interface TracingParts {
  /** The name of the service. */
  readonly service: string
  readonly logger: Logger
  readonly metrics: Registry
}

/** Starts the export of traces. Returns undefined, and loads no code for it, if the configuration has no endpoint. */
export async function startTracing(
  config: TracingConfig | undefined,
  parts: TracingParts,
): Promise<Tracing | undefined> {
  if (!config) return undefined
  const { createOtlpTracing } = await import('./otlp-tracing.ts')
  return createOtlpTracing(config, parts)
}

/** Returns the part of a service that exports the last spans. It comes first, so that it stops last. */
export function tracingParts(tracing: Tracing | undefined): readonly ServicePart[] {
  return tracing ? [{ name: 'traces', start: () => Promise.resolve(), stop: tracing.stop }] : []
}

/** Returns the `traceparent` of a new span: in the trace of its only cause, or else in a new one. */
export function contextWithin(causes: readonly string[]): string {
  const [first, second] = causes
  const traceId = first === undefined || second !== undefined ? randomBytes(16).toString('hex') : idsOf(first).traceId
  return `00-${traceId}-${randomBytes(8).toString('hex')}-01`
}
