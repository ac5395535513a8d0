import { randomBytes, randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { runNextvisit } from '@nextvisit/cli/test/run-nextvisit.ts'
import { eventually, keyNamed, type LoopbackServer, serveOnLoopback } from '@nextvisit/testing/black-box'
import type { ReceivedSpan } from '@nextvisit/testing/otlp-receiver'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collector, product } from './product.ts'

const ADMIN_KEY = keyNamed('TRACED_ADMIN_P')
const CANARY = `canary${randomBytes(8).toString('hex')}`
const FOLDS = ['form-trigger-evaluator', 'metering', 'trait-registry', 'user-projector']

/** The trace of a caller that records it. */
function callersTrace() {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-01` }
}

function send(route: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  return fetch(`${product().gatewayUrl}${route}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': ADMIN_KEY, ...headers },
    body: JSON.stringify(body),
  })
}

/** Returns true if the collector has a span of the trace. */
function isIn(traceId: string): boolean {
  return collector()
    .spans()
    .some((span) => span.traceId === traceId)
}

/** Follows a request through all processes, with a collector of its own. The sampler of this product follows callers only. */
export function describeTraces(): void {
  const { traceId, spanId, traceparent } = callersTrace()
  const spans = () =>
    collector()
      .spans()
      .filter((span) => span.traceId === traceId)
  const named = (name: string, service?: string): readonly ReceivedSpan[] =>
    spans().filter((span) => span.name === name && (service === undefined || span.service === service))
  const only = (name: string, service?: string): ReceivedSpan => {
    const [span, ...others] = named(name, service)
    if (!span || others.length > 0) throw new Error(`There are ${others.length + (span ? 1 : 0)} spans ${name}`)
    return span
  }
  let receiver: LoopbackServer
  let requestId: string | null

  beforeAll(async () => {
    receiver = await serveOnLoopback((_request, response) => response.writeHead(204).end())
    const file = path.join(product().dataDirectory, `${randomUUID()}.yaml`)
    await writeFile(
      file,
      `
organizations:
  - id: traced
    plan: { eventsPerMonth: 1000 }
    projects:
      - id: shop
        keys: [{ name: backend, kind: admin, environment: P, secret: $TRACED_ADMIN_P }]
        forms: [{ id: nps, triggers: [{ event: paid }], frequency: { repeat: always } }]
        webhooks: [{ id: crm, url: "${receiver.url}/${CANARY}", secret: $HOOK_SECRET }]
`,
    )
    const secret = `whsec_${randomBytes(32).toString('base64')}`
    const env = { NEXTVISIT_DATA: product().dataDirectory, TRACED_ADMIN_P: ADMIN_KEY, HOOK_SECRET: secret }
    expect(await runNextvisit(['apply', file], env)).toMatchObject({ exitCode: 0 })
    await rm(file)
    const userName = `${CANARY}@example.com`
    expect((await send('/v2/admin/identify-user', { userName })).status).toBe(200)
    const track = { userName, eventName: 'paid', properties: { [CANARY]: CANARY } }
    const tracked = await send('/v2/admin/track-event', track, { traceparent })
    expect(tracked.status).toBe(202)
    requestId = tracked.headers.get('x-request-id')
    await eventually(
      () => Promise.resolve(named('POST webhook')),
      (sent) => sent.length > 0,
      60_000,
    )
    await eventually(
      () => Promise.resolve(FOLDS.map((service) => named('process user-events', service).length)),
      (counts) => counts.every((count) => count > 0),
      60_000,
    )
  }, 150_000)
  afterAll(() => receiver?.stop())

  describe('the trace of a request (trace.md)', () => {
    it('begins at the caller’s span, with the request at the gateway', () => {
      expect(only('POST /v2/admin/track-event')).toMatchObject({
        service: 'gateway',
        kind: 'server',
        parentSpanId: spanId,
        attributes: {
          'http.request.method': 'POST',
          'http.route': '/v2/admin/track-event',
          'http.response.status_code': 202,
          'http.response.header.x-request-id': [requestId],
          'nextvisit.organization': 'traced',
        },
      })
    })

    it('has the calls of admission, and their answers', () => {
      const { spanId: request } = only('POST /v2/admin/track-event')
      const calls = spans().filter(
        ({ service, kind, name }) => service === 'gateway' && kind === 'client' && name.startsWith('POST /'),
      )
      expect(calls.length).toBeGreaterThan(0)
      for (const call of calls) {
        expect(call.parentSpanId).toBe(request)
        expect(only(call.name, String(call.attributes['service.peer.name']))).toMatchObject({
          kind: 'server',
          parentSpanId: call.spanId,
        })
      }
    })

    it('has the request to Kafka, and the fold of each consumer, linked to the record', () => {
      const { spanId: request } = only('POST /v2/admin/track-event')
      expect(only('send user-events')).toMatchObject({
        service: 'gateway',
        kind: 'client',
        parentSpanId: request,
        attributes: { 'messaging.system': 'kafka', 'messaging.operation.type': 'send' },
      })
      for (const service of FOLDS) {
        expect(only('process user-events', service)).toMatchObject({
          kind: 'consumer',
          parentSpanId: request,
          links: [{ traceId, spanId: request }],
          attributes: { 'messaging.operation.type': 'process', 'messaging.destination.name': 'user-events' },
        })
        expect(only('poll user-events', service)).toMatchObject({ kind: 'client', parentSpanId: request })
      }
    })

    it('goes on with the form that the record queued, to its delivery', () => {
      const { spanId: request } = only('POST /v2/admin/track-event')
      expect(only('send form-events')).toMatchObject({ service: 'form-trigger-evaluator', parentSpanId: request })
      expect(only('process form-events', 'webhook-dispatcher')).toMatchObject({ links: [{ traceId, spanId: request }] })
      expect(only('POST webhook')).toMatchObject({
        service: 'webhook-dispatcher',
        kind: 'client',
        parentSpanId: request,
        attributes: {
          'server.address': '127.0.0.1',
          'http.response.status_code': 204,
          'nextvisit.webhook.type': 'form.queued',
        },
        isFailed: false,
      })
    })

    it.each([
      ['gateway', 'nextvisit_gateway_request_seconds'],
      ['gateway', 'nextvisit_gateway_reply_wait_seconds'],
      ['gateway', 'nextvisit_publish_seconds'],
      ['metering', 'projection_fold_seconds'],
    ] as const)('is an exemplar of the latency at the %s: %s', async (service, metric) => {
      const metrics = await (await fetch(`${product().internalUrlOf(service)}/metrics`)).text()
      expect(metrics).toMatch(new RegExp(`^${metric}_bucket\\{.*\\} \\d+ # \\{trace_id="${traceId}",span_id=`, 'm'))
    })
  })

  it('spans contain no name, property, path of a webhook or key', () => {
    expect(spans().length).toBeGreaterThan(10)
    for (const { bytes } of collector().requests()) {
      expect(bytes.includes(CANARY)).toBe(false)
      expect(bytes.includes(ADMIN_KEY)).toBe(false)
    }
  })

  it('no span is recorded of a request that is not sampled', async () => {
    const [unflagged, begun] = [callersTrace(), callersTrace()]
    const body = { userName: `${CANARY}@example.com` }
    await send('/v2/admin/identify-user', body, { traceparent: unflagged.traceparent.replace(/01$/, '00') })
    await send('/v2/admin/identify-user', body)
    await send('/v2/admin/identify-user', body, { traceparent: begun.traceparent })
    await eventually(() => Promise.resolve(isIn(begun.traceId)), Boolean, 30_000)
    expect(isIn(unflagged.traceId)).toBe(false)
  })
}
