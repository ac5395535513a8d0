import { ErrorBody, FormContent, type OperationId, ROUTES } from '@nextvisit/contracts'
import { contentHashOf, userIdOf } from '@nextvisit/domain'
import { NOT_FOUND } from '@nextvisit/service-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Reply } from '../../../test/call-over.ts'
import { type GatewayFixture, startGateway } from '../../../test/gateway-fixture.ts'
import { startService } from '../../../test/service-fixture.ts'
import { readContent } from '../../openapi/operations.ts'
import { createOpenApiDocument, openApiText } from '../../openapi/document.ts'

const { paths = {} } = createOpenApiDocument()
const required: readonly string[] = Object.entries(readContent().headers).flatMap(([name, header]) =>
  'required' in header ? [name] : [],
)
const { pattern: IDENTIFY } = ROUTES.identifyUser
const { pattern: TRACK } = ROUTES.trackEvent
const { pattern: VISIT } = ROUTES.visit

const options = ['monthly', 'yearly', 'weekly', 'never'].map((id) => ({ id, label: id }))
const CONTENT = FormContent.parse({
  elements: [
    { id: 'score', type: 'nps', required: true },
    { id: 'reason', type: 'text' },
    { id: 'plan', type: 'choice', options, other: true },
    { id: 'uses', type: 'choices', options, atLeast: 1, atMost: 3 },
    { id: 'contact', type: 'consent', label: 'May we call?' },
    { id: 'docs', type: 'link', label: 'Read more', url: 'https://example.com' },
  ],
})

/** Has exhausted limits; `slow` has an exhausted rate limit; `alone` has no services. */
let gateway: GatewayFixture
let slow: GatewayFixture
let alone: GatewayFixture
let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService({
    lookUpUsers: async ({ questions }) => ({
      answers: questions.map(({ organization, project, userId }) => ({
        existence: userId === userIdOf(organization, project, 'nobody') ? 'missing' : 'exists',
      })),
    }),
    readUser: async () => NOT_FOUND,
    readQueue: async () => ({ waiting: [] }),
    readForms: async () => NOT_FOUND,
    readFormResults: async () => NOT_FOUND,
    readFormAnswers: async () => NOT_FOUND,
    reserve: async ({ questions }) => ({ answers: questions.map(() => 'no-room') }),
    claim: async ({ questions }) => ({
      answers: questions.map(({ slugs }) => slugs.map(() => 'no-room')),
    }),
  })
  gateway = await startGateway({
    project: {
      events: [{ slug: 'old', enabled: false }],
      webhooks: [{ id: 'crm', url: 'https://crm.example.com/', secret: 'sealed', addedAt: '2026-11-01T00:00:00.000Z' }],
      clientCreatedEvents: false,
      forms: [
        { id: 'nps', triggers: [{ visit: {} }], content: { revision: 1, hash: contentHashOf(CONTENT) } },
        { id: 'lost', triggers: [{ visit: {} }], content: { revision: 1, hash: contentHashOf(CONTENT) } },
      ],
    },
    contents: [{ formId: 'nps', revision: 1, content: CONTENT }],
    plan: { uniqueEvents: 0, eventsPerMonth: 0, monthlyActiveUsers: 0 },
    services: {
      'user-projector': service.url,
      'form-trigger-evaluator': service.url,
      'trait-registry': service.url,
      metering: service.url,
      'answer-collector': service.url,
    },
  })
  slow = await startGateway({ project: { rateLimits: { admin: { perSecond: 0.1, burst: 1 } } } })
  alone = await startGateway({ besides: gateway })
  await slow.get('/v2/admin/usage')
})
afterAll(async () => {
  for (const each of [gateway, slow, alone]) await each.stop()
  await service.stop()
})

type Ask = () => Promise<Reply>

const post =
  (path: string, body: unknown, headers: Record<string, string> = {}): Ask =>
  () => {
    const key = path.startsWith('/v2/sdk') ? gateway.keys.sdk : gateway.keys.admin
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return gateway.call('POST', path, { 'content-type': 'application/json', 'x-api-key': key, ...headers }, text)
  }
const get =
  (path: string): Ask =>
  () =>
    gateway.get(path)
const identify = (body: object) => post(IDENTIFY, { userName: 'ada', ...body })
const set = (operations: object) => identify({ userAttributes: operations })
const batch = (body: object, headers = {}) => post(ROUTES.recordBatch.pattern, body, headers)
const track = (body: object) => post(TRACK, { userName: 'ada', eventName: 'a', ...body })

const give = (body: object) =>
  post(ROUTES.giveSdkAnswers.pattern, {
    userName: 'ada',
    offerId: '0192aa00-0000-5000-8000-000000000001',
    formId: 'nps',
    revision: 1,
    answers: {},
    status: 'partial',
    ...body,
  })

interface DocumentedResponse {
  readonly headers: object
  readonly content: { readonly 'application/json': { readonly examples: Record<string, { readonly value: unknown }> } }
}

const FROM = '2026-11-01T00:00:00Z'

/** Refusals with the messages of the document, word for word. */
const REFUSED: readonly (readonly [OperationId, number, Ask])[] = [
  ['identifyUser', 400, post(IDENTIFY, '{')],
  ['identifyUser', 400, post(IDENTIFY, '[]')],
  ['identifyUser', 400, post(IDENTIFY, '{"a":"\\u0000"}')],
  ['identifyUser', 400, post(IDENTIFY, `{"a":${'['.repeat(8)}${']'.repeat(8)}}`)],
  ['identifyUser', 400, post(IDENTIFY, 'x', { 'content-encoding': 'gzip' })],
  ['identifyUser', 400, identify({ userName: 1 })],
  ['identifyUser', 400, identify({ userName: 'a'.repeat(256) })],
  ['identifyUser', 400, identify({ userAttributes: 1 })],
  ['identifyUser', 400, identify({ $deviceInfo: 1 })],
  ['identifyUser', 400, identify({ $deviceInfo: { $app: 1 } })],
  ['identifyUser', 400, identify({ userSignature: 1 })],
  ['identifyUser', 400, set({ $unset: Array.from({ length: 251 }, () => 'plan') })],
  ['identifyUser', 400, set({ $push: {} })],
  ['identifyUser', 400, set({ $set: 1 })],
  ['identifyUser', 400, set({ $set: { plan: [[]] } })],
  ['identifyUser', 400, set({ $unset: 1 })],
  ['identifyUser', 400, set({ $unset: [1] })],
  ['identifyUser', 400, set({ $increment: { $app: 1 } })],
  ['identifyUser', 400, set({ $set: { '': 1 } })],
  ['identifyUser', 400, set({ $set: { plan: 'a'.repeat(501) } })],
  ['identifyUser', 400, set({ $set: { plan: {} } })],
  ['identifyUser', 400, set({ $set: { plan: Array.from({ length: 101 }, () => 1) } })],
  ['identifyUser', 400, set({ $increment: { logins: '1' } })],
  ['identifyUser', 400, identify({ $deviceInfo: { $countryCode: 'XX' } })],
  ['identifyUser', 400, identify({ $deviceInfo: { $timezone: 'x' } })],
  ['identifyUser', 400, identify({ $deviceInfo: { $deviceOs: 'x' } })],
  ['identifyUser', 400, post(IDENTIFY, { userName: 'ada' }, { 'idempotency-key': 'a b' })],
  ['identifyUser', 400, identify({})],
  ['identifyUser', 401, identify({ userName: ' ' })],
  ['identifyUser', 401, post(IDENTIFY, {}, { 'x-api-key': 'x' })],
  ['identifyUser', 403, () => gateway.post(IDENTIFY, {}, gateway.keys.sdk)],
  ['identifyUser', 405, () => gateway.call('DELETE', IDENTIFY)],
  ['identifyUser', 413, post(IDENTIFY, 'x'.repeat(102_401))],
  ['identifyUser', 415, post(IDENTIFY, '{}', { 'content-type': 'text/plain' })],
  ['identifyUser', 415, post(IDENTIFY, '{}', { 'content-encoding': 'br' })],
  ['identifyUser', 417, post(IDENTIFY, '{}', { expect: 'x' })],
  ['identifyUser', 429, () => slow.identify({ userName: 'ada' })],
  ['identifyUser', 431, post(IDENTIFY, '{}', { 'x-large': 'x'.repeat(20_000) })],
  ['identifyUser', 400, post(IDENTIFY, '{"userName":"ada","userAttributes":{"$set":{"plan":12345678901234567890}}}')],
  ['recordBatch', 400, batch({})],
  ['recordBatch', 400, batch({ items: [] }, { 'idempotency-key': 'a b' })],
  ['recordBatch', 413, batch({ pad: 'x'.repeat(512_000) })],
  ['segmentBatch', 400, post(ROUTES.segmentBatch.pattern, {})],
  ['segmentBatch', 413, post(ROUTES.segmentBatch.pattern, { pad: 'x'.repeat(512_000) })],
  ['visit', 401, post(VISIT, {})],
  ['visit', 403, () => gateway.post(VISIT, {}, gateway.keys.admin)],
  ['visit', 405, () => gateway.call('GET', VISIT)],
  ['trackEvent', 400, track({ userName: '' })],
  ['trackEvent', 400, track({ eventName: '' })],
  ['trackEvent', 400, track({ eventName: 'form:a' })],
  ['trackEvent', 400, track({ eventName: '!' })],
  ['trackEvent', 400, track({ occurredAt: 1 })],
  ['trackEvent', 400, track({ occurredAt: 'x' })],
  ['trackEvent', 400, track({ occurredAt: '2020-01-01T00:00Z' })],
  ['trackEvent', 400, track({ occurredAt: '2999-01-01T00:00Z' })],
  ['trackEvent', 400, track({ properties: [1] })],
  ['trackEvent', 400, track({ properties: { items: Array.from({ length: 20 }, () => 'x'.repeat(2_000)) } })],
  ['trackEvent', 400, track({ properties: { items: [{ a: { b: { c: {} } } }] } })],
  ['trackEvent', 400, track({ properties: { note: 'x'.repeat(2_049) } })],
  ['trackEvent', 400, post(TRACK, '{"userName":"ada","eventName":"a","properties":{"total":1e400}}')],
  ['trackEvent', 400, track({ eventName: 'old' })],
  ['trackEvent', 402, track({})],
  ['trackEvent', 404, track({ userName: 'nobody' })],
  ['trackSdkEvent', 402, post(ROUTES.trackSdkEvent.pattern, { userName: 'ada', eventName: 'new' })],
  ['giveSdkAnswers', 400, give({ offerId: 'nps' })],
  ['giveSdkAnswers', 400, give({ formId: 7 })],
  ['giveSdkAnswers', 400, give({ formId: 'unknown' })],
  ['giveSdkAnswers', 400, give({ revision: 0 })],
  ['giveSdkAnswers', 400, give({ revision: 2 })],
  ['giveSdkAnswers', 400, give({ answers: 7 })],
  ['giveSdkAnswers', 400, give({ status: 'done' })],
  ['giveSdkAnswers', 400, give({ language: 7 })],
  ['giveSdkAnswers', 400, give({ language: 'fr' })],
  ['giveSdkAnswers', 400, give({ userSignature: 7 })],
  ['giveSdkAnswers', 400, give({ status: 'finished' })],
  ['giveSdkAnswers', 400, give({ status: 'finished', answers: { score: 9 } })],
  ...[
    { stars: 1 },
    { docs: true },
    { score: 11 },
    { reason: 'x'.repeat(1_001) },
    { contact: 1 },
    { plan: 'daily' },
    { plan: { other: 7 } },
    { uses: 'never' },
    { uses: options.map(({ id }) => id) },
  ].map((answers) => ['giveSdkAnswers', 400, give({ answers })] as const),
  ['giveSdkAnswers', 404, give({ userName: 'nobody' })],
  ['giveSdkAnswers', 503, give({ formId: 'lost' })],
  ['giveAnswers', 403, () => gateway.post(ROUTES.giveAnswers.pattern, {}, gateway.keys.sdk)],
  ['getUser', 400, get('/v2/admin/users/%ff')],
  ['getUser', 400, get('/v2/admin/users/%00')],
  ['getUser', 404, get('/v2/admin/users/nobody')],
  ['getUser', 503, () => alone.get('/v2/admin/users/ada')],
  ['getUserForms', 400, get('/v2/admin/users/%/forms')],
  ['getUserForms', 404, get('/v2/admin/users/ada/forms')],
  ['getUserForms', 503, () => alone.get('/v2/admin/users/ada/forms')],
  ['findUser', 400, get('/v2/admin/users')],
  ['listTraits', 400, get('/v2/admin/traits?limit=0')],
  ['listEvents', 400, get('/v2/admin/events?after=%00')],
  ['listSegments', 400, get('/v2/admin/segments?limit=0')],
  ['listSegmentUsers', 400, get('/v2/admin/segments/%/users')],
  ['listSegmentUsers', 404, get('/v2/admin/segments/nothing/users')],
  ['listForms', 400, get('/v2/admin/forms?limit=0')],
  ['listForms', 400, get('/v2/admin/forms?after=%00')],
  ['listForms', 400, get('/v2/admin/forms?environment=p')],
  ['listForms', 503, () => alone.get('/v2/admin/forms')],
  ['getFormResults', 400, get('/v2/admin/forms/nps/results?from=2026-02-30')],
  ['getFormResults', 400, get('/v2/admin/forms/nps/results?to=2026-11-27T00:00:00Z')],
  ['getFormResults', 400, get('/v2/admin/forms/nps/results?from=2026-11-27&to=2026-11-27')],
  ['getFormResults', 400, get('/v2/admin/forms/nps/results?environment=test')],
  ['getFormResults', 400, get('/v2/admin/forms/nps/results?language=english')],
  ['getFormResults', 404, get('/v2/admin/forms/__proto__/results')],
  ['getFormResults', 503, () => alone.get('/v2/admin/forms/nps/results')],
  ['listFormAnswers', 400, get('/v2/admin/forms/nps/answers?limit=1001')],
  ['listFormAnswers', 400, get('/v2/admin/forms/nps/answers?after=2026-11-27')],
  ['listFormAnswers', 400, get('/v2/admin/forms/nps/answers?environment=')],
  ['listFormAnswers', 400, get('/v2/admin/forms/%ff/answers')],
  ['listFormAnswers', 404, get('/v2/admin/forms/unknown/answers')],
  ['listRefusals', 400, get('/v2/admin/refusals?limit=0')],
  ['listRefusals', 400, get('/v2/admin/refusals?after=x')],
  ['listRefusals', 400, get('/v2/admin/refusals?reason=x')],
  ['getUsage', 503, () => alone.get('/v2/admin/usage')],
  ['listWebhooks', 503, () => alone.get('/v2/admin/webhooks')],
  ['listDeliveries', 400, get('/v2/admin/webhooks/crm/deliveries?limit=0')],
  ['listDeliveries', 400, get('/v2/admin/webhooks/crm/deliveries?after=0000-01-01T00:00:00.000Z_x')],
  ['listDeliveries', 400, get('/v2/admin/webhooks/crm/deliveries?status=lost')],
  ['listDeliveries', 400, get('/v2/admin/webhooks/crm/deliveries?user=ada')],
  ['listDeliveries', 404, get('/v2/admin/webhooks/CRM/deliveries')],
  ['getDelivery', 404, get('/v2/admin/webhooks/crm/deliveries/1')],
  ['replayWebhook', 400, post('/v2/admin/webhooks/crm/replay', {})],
  ['replayWebhook', 400, post('/v2/admin/webhooks/crm/replay', { from: FROM, to: 7 })],
  ['replayWebhook', 400, post('/v2/admin/webhooks/crm/replay', { from: '2999-01-01T00:00:00Z' })],
  ['replayWebhook', 400, post('/v2/admin/webhooks/crm/replay', { from: FROM, events: ['form.shown'] })],
  ['replayWebhook', 400, post('/v2/admin/webhooks/crm/replay', '{')],
  ['replayWebhook', 404, post('/v2/admin/webhooks/CRM/replay', { from: FROM })],
  ['replayWebhook', 415, post('/v2/admin/webhooks/crm/replay', '{}', { 'content-type': 'text/plain' })],
  ['retryDeliveries', 400, post('/v2/admin/webhooks/crm/retry', { from: 'yesterday' })],
  ['retryDelivery', 404, post('/v2/admin/webhooks/crm/deliveries/1/retry', {})],
  ['testWebhook', 400, post('/v2/admin/webhooks/%ff/test', {})],
  ['testWebhook', 404, post('/v2/admin/webhooks/CRM/test', {})],
  ['testWebhook', 405, () => gateway.call('PUT', '/v2/admin/webhooks/crm/test')],
  ['enableWebhook', 403, () => gateway.post('/v2/admin/webhooks/crm/enable', {}, gateway.keys.sdk)],
  ['enableWebhook', 503, () => alone.post('/v2/admin/webhooks/crm/enable', {}, alone.keys.admin)],
]

describe('a refusal', () => {
  it.each(REFUSED)('of %s with %d equals its documentation', async (operationId, status, ask) => {
    const { method, pattern } = ROUTES[operationId]
    const item = paths[pattern] ?? {}
    const response: DocumentedResponse = (method === 'GET' ? item.get : item.post)?.responses?.[status]
    const answer = await ask()
    expect(answer.status).toBe(status)
    const examples = Object.values(response.content['application/json'].examples)
    expect(examples.map(({ value }) => errorOf(value))).toContainEqual(errorOf(answer.body))
    const always = Object.keys(response.headers).filter((name) => required.includes(name))
    expect(Object.keys(answer.headers)).toEqual(expect.arrayContaining(always.map((name) => name.toLowerCase())))
  })
})

describe('refusals of single items of a batch', () => {
  const DEEP = JSON.parse(`${'{"a":'.repeat(8)}{}${'}'.repeat(8)}`) as object
  it.each([
    ['batch', { items: [DEEP, { a: '\u0000' }] }, ROUTES.recordBatch.pattern, { 'idempotency-key': 'once' }],
    ['batch of Segment', { batch: [DEEP, { a: '\u0000' }] }, ROUTES.segmentBatch.pattern, { 'idempotency-key': 'a b' }],
  ])('fail neither the %s nor its repeat', async (_what, body, path, headers) => {
    const send = post(path, body, headers)
    const [first, again] = [await send(), await send()]
    expect([first.status, again.status, again.body]).toEqual([200, 200, first.body])
  })
})

describe('the gateway without a key', () => {
  it('serves the committed document', async () => {
    const answer = await gateway.call('GET', '/openapi.json')
    expect(answer.text).toBe(openApiText())
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  })

  it('serves a page whose policy allows only the gateway', async () => {
    const response = await fetchPage('docs')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('x-request-id')).not.toBeNull()
    expect(policyOf(response)).toEqual({
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': "'self'",
      'img-src': 'data:',
      'connect-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    })
    const page = await response.text()
    expect(page).toMatch(/^<!doctype html>/)
    expect(page).not.toMatch(/<style|<img|<iframe|url\(|@import|\son\w+=|\sstyle=|https?:|<script>|="\//i)
  })

  it('serves the files of the page, each with its type', async () => {
    const page = await (await fetchPage('docs')).text()
    const loaded = [...page.matchAll(/ (?:src|href)="(?!data:)([^"]+)"/g)].map(([, path]) => path)
    expect(loaded).toEqual(['docs/swagger-ui.css', 'docs/swagger-ui-bundle.js', 'docs/start.js'])
    for (const path of loaded) {
      const response = await fetchPage(path ?? '')
      expect([path, response.status, (await response.text()).length > 0]).toEqual([path, 200, true])
      expect(response.headers.get('content-type')).toBe(
        `text/${path?.endsWith('.css') ? 'css' : 'javascript'}; charset=utf-8`,
      )
    }
    expect(await (await fetchPage('docs/start.js')).text()).toMatch(/url: 'openapi.json'.*validatorUrl: 'none'/)
  })

  it.each(['/openapi.json', '/docs', '/docs/swagger-ui-bundle.js'])('answers GET and HEAD of %s', async (path) => {
    expect(await gateway.call('HEAD', path)).toMatchObject({ status: 200, text: '' })
    expect(await gateway.call('POST', path)).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
  })
})

/** Answers that are not JSON. */
function fetchPage(path: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${gateway.port}/${path}`)
}

function policyOf(response: Response): object {
  const directives = response.headers.get('content-security-policy')?.split('; ') ?? []
  return Object.fromEntries(directives.map((each) => each.split(/ (.*)/).slice(0, 2)))
}

/** Returns an error without the number of the rate limit, which each project sets, and without the part that is unavailable. */
function errorOf(body: unknown): unknown {
  const { status, error, message } = ErrorBody.parse(body)
  const named = message.replace(/because the .* is late/, 'because the PART is late')
  return { status, error, message: status === 429 ? named.replace(/[\d.]+/, 'N') : named }
}
