import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { type OtlpReceiver, startOtlpReceiver } from '@nextvisit/testing/otlp-receiver'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLogger } from './logger.ts'
import { createMetrics } from './metrics.ts'
import { readConfig } from './read-config.ts'
import { idsOf } from './trace-context.ts'
import { contextWithin, type EndedSpan, startTracing } from './tracing.ts'
import { tracingConfig } from './tracing-config.ts'

const CALLERS = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const OTHERS = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const FIXTURE = path.join(import.meta.dirname, '../test/loaded-modules.fixture.ts')

const span = (given: Partial<EndedSpan> = {}): EndedSpan => ({
  name: 'process user-events',
  kind: 'client',
  causes: [CALLERS],
  beganAt: performance.now() - 5,
  endedAt: performance.now(),
  attributes: {},
  ...given,
})

async function givenReceiver(): Promise<OtlpReceiver> {
  const receiver = await startOtlpReceiver()
  onTestFinished(receiver.stop)
  return receiver
}

async function givenTracing({ url }: Pick<OtlpReceiver, 'url'>, env: Readonly<Record<string, string>> = {}) {
  const { tracing: config } = readConfig(tracingConfig, { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...env })
  const metrics = createMetrics('spec', { isTraced: true })
  const lines: string[] = []
  const logger = createLogger('spec', 'info', { write: (line) => void lines.push(line) })
  const tracing = await startTracing(config, { service: 'metering', logger, metrics })
  if (!tracing) throw new Error('Traces are not exported')
  const counted = async (): Promise<string> =>
    (await metrics.metrics())
      .split('\n')
      .filter((line) => line.startsWith('nextvisit_trace_spans_total'))
      .join('\n')
  return { ...tracing, counted, lines }
}

describe('the export of traces', () => {
  it('sends spans with their ids, times, attributes and links, and the last ones at the stop', async () => {
    const receiver = await givenReceiver()
    const { record, stop, counted } = await givenTracing(receiver, {
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20c2VjcmV0',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging',
    })
    const context = contextWithin([CALLERS])
    const [beganAt, endedAt] = [performance.now() - 20, performance.now()]
    const attributes = { 'messaging.batch.message_count': 2, 'http.route': '/', list: ['a', 'b'] }
    record(span({ context, beganAt, endedAt, attributes, error: '503' }))
    record(span({ kind: 'consumer', causes: [CALLERS, OTHERS] }))
    record(span({ kind: 'consumer' }))
    await stop()
    const [child, several, one] = receiver.spans()
    expect(child).toMatchObject({
      ...idsOf(context),
      service: 'metering',
      traceId: idsOf(CALLERS).traceId,
      parentSpanId: idsOf(CALLERS).spanId,
      attributes: { ...attributes, 'error.type': '503' },
      links: [],
      isFailed: true,
    })
    const tookMs = Number((child?.endedAtNs ?? 0n) - (child?.beganAtNs ?? 0n)) / 1e6
    expect(tookMs).toBeCloseTo(endedAt - beganAt, 0)
    expect(several).toMatchObject({ parentSpanId: undefined, links: [idsOf(CALLERS), idsOf(OTHERS)], isFailed: false })
    expect([idsOf(CALLERS).traceId, idsOf(OTHERS).traceId]).not.toContain(several?.traceId)
    expect(one).toMatchObject({ parentSpanId: idsOf(CALLERS).spanId, links: [idsOf(CALLERS)] })
    expect(receiver.requests()).toMatchObject([{ path: '/v1/traces', headers: { authorization: 'Basic c2VjcmV0' } }])
    expect(receiver.requests()[0]?.bytes.toString('latin1')).toContain('staging')
    expect(await counted()).toContain('{outcome="exported",service="spec"} 3')
  })

  it('keeps a bounded number of spans while the collector does not answer, and counts the others as dropped', async () => {
    const receiver = await givenReceiver()
    receiver.answerWith('none')
    const { record, stop, counted } = await givenTracing(receiver)
    for (let spans = 0; spans < 3_000; spans += 1) record(span())
    expect(await counted()).toContain('{outcome="dropped",service="spec"} 952')
    // Although no answer comes.
    await stop()
  })

  it('reports a collector that refuses, once, and counts its spans as failed', async () => {
    const receiver = await givenReceiver()
    receiver.answerWith(400)
    const { record, stop, counted, lines } = await givenTracing(receiver)
    record(span())
    await stop()
    expect(await counted()).toContain('{outcome="failed",service="spec"} 1')
    expect(lines.filter((line) => line.includes('Traces cannot be exported'))).toHaveLength(1)
  })

  it.each([
    ['none without an endpoint', '', 0],
    ['the SDK with one', 'http://127.0.0.1:1', expect.toSatisfy((count: number) => count > 0)],
  ])('loads modules of OpenTelemetry: %s', async (_case, endpoint, count) => {
    const { stdout } = await promisify(execFile)(process.execPath, [FIXTURE, endpoint])
    expect(Number(stdout)).toEqual(count)
  })
})
