import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { EventTracked } from '@nextvisit/contracts'
import { createApiKey, parseTrackBody, parseUncheckedJson, type TrackBody } from '@nextvisit/domain'
import { createLogger } from '@nextvisit/service-kit'
import { expect, it } from 'vitest'
import { answerRequestParts, givenRoute, KEY, SDK_KEY } from '../../test/answer-request-parts.ts'
import { givenStages, PUBLISHED } from '../../test/given-stages.ts'
import type { AdmissionParts } from '../admission/admission.ts'
import { admitEvent } from '../admission/admit-event.ts'
import { createSingleRoute } from '../ingest/single-route.ts'
import { defineKind } from '../ingest/stages.ts'
import { REFUSALS } from '../refusals/refusals.ts'
import { answer } from './route.ts'

/** Reasons that hold for one request at the same time. */
const FAULTS = [
  'noCatalog',
  'key',
  'kindOfKey',
  'tooFast',
  'contentType',
  'contentEncoding',
  'unfinishedBodies',
  'tooLarge',
  'notGzip',
  'signature',
  'signatureUnverifiable',
  'noErasures',
  'suppressed',
  'idempotencyKey',
  'stillRunning',
  'keyOfAnother',
  'user',
  'disabled',
  'eventLimit',
  'uniqueEvents',
  'notRecorded',
] as const satisfies readonly (keyof typeof REFUSALS)[]
type Has = (fault: (typeof FAULTS)[number]) => boolean

const done = async () => undefined
const BODY = JSON.stringify({ userName: 'ada', eventName: 'A' })

function headersWith(has: Has) {
  const isKeyUnknown = has('noCatalog') || has('key')
  const encoding = has('contentEncoding') ? 'br' : 'gzip'
  return {
    'X-Api-Key': isKeyUnknown ? 'nv_sdk_unknown' : has('kindOfKey') ? KEY : SDK_KEY,
    'Content-Type': has('contentType') ? 'text/plain' : 'application/json',
    'Content-Length': has('tooLarge') ? 102_401 : BODY.length,
    'Idempotency-Key': has('idempotencyKey') ? 'two words' : 'key',
    ...((has('contentEncoding') || has('notGzip')) && { 'Content-Encoding': encoding }),
  }
}

/** A route that records an event, under the real policy, with services that answer as these faults require. */
function routeWith(has: Has) {
  const { lock } = givenStages()
  const { stages } = givenStages({
    checkSignature: () => (has('signature') ? 'invalid' : has('signatureUnverifiable') ? 'unverifiable' : 'valid'),
    checkSuppression: () => {
      if (has('noErasures')) return REFUSALS.noErasures
      return has('suppressed') ? REFUSALS.suppressed : undefined
    },
    keptAnswers: {
      lock: async (request) => {
        if (has('stillRunning')) return { outcome: 'running' }
        return has('keyOfAnother') ? { outcome: 'taken' } : lock(request)
      },
    },
    userEvents: {
      partitionOf: (userId) => ({ userId, partition: 0 }),
      publish: async () => (has('notRecorded') ? { outcome: 'not-published', reason: 'deadline' } : PUBLISHED),
    },
  })
  const admission = {
    knownUsers: { check: async () => (has('user') ? 'missing' : 'exists') },
    metering: {
      take: () => undefined,
      reserve: async () => ({ verdict: has('eventLimit') ? 'no-room' : 'granted', release: done }),
    },
    traitRegistry: {
      claim: async () => new Map([['a', has('uniqueEvents') ? 'no-room' : 'registered']]),
      release: done,
      remember: done,
    },
  } as unknown as AdmissionParts
  const kind = defineKind<TrackBody, EventTracked>({
    identifies: false,
    parse: ({ body, receivedMs }) => parseTrackBody(body, receivedMs),
    admit: (item) => {
      const disabledEvents = new Set(has('disabled') ? ['a'] : [])
      const project = { ...item.request.project, disabledEvents }
      return admitEvent(admission, { ...item, request: { ...item.request, project } })
    },
    mayReact: () => false,
    answer: () => answer(202, {}),
  })
  return createSingleRoute({ method: 'POST', pattern: '/test', keyKind: 'sdk' }, kind, stages)
}

/** Sends a request with these faults. Returns the reason of its refusal; undefined if it is answered. */
async function refusalOf(faults: ReadonlySet<string>): Promise<string | undefined> {
  const has: Has = (fault) => faults.has(fault)
  let reason: string | undefined
  const { catalog, ...parts } = answerRequestParts({
    rateLimiter: { take: async () => ({ isAllowed: !has('tooFast'), remaining: 0, moreInSeconds: 1 }) },
    // No key may have an unfinished body then.
    ...(has('unfinishedBodies') && { maxInFlight: 0 }),
    onRefused: (_refused, refusal) => (reason = refusal.reason),
  })
  const currentAsOfMs = () => (has('noCatalog') ? 0 : Date.now())
  const url = await givenRoute(routeWith(has), { ...parts, catalog: { ...catalog, currentAsOfMs } })
  const request = httpRequest(url, { method: 'POST', headers: headersWith(has) })
  if (has('unfinishedBodies') || has('tooLarge')) request.write('{')
  else request.end(BODY)
  await once(request, 'response')
  request.destroy()
  return reason
}

it('a request with many faults is refused for each in the order of REFUSALS, after the faults before it are mended', async () => {
  const faults = new Set<string>(FAULTS)
  const reasons: string[] = []
  for (let reason = await refusalOf(faults); reason !== undefined; reason = await refusalOf(faults)) {
    reasons.push(reason)
    if (!faults.delete(reason)) break
  }
  const wanted: readonly string[] = FAULTS
  expect(reasons).toEqual(Object.keys(REFUSALS).filter((reason) => wanted.includes(reason)))
})

it.each<[string, number, object, object?]>([
  ['no key', 401, {}],
  ['an unknown key in its body', 401, { writeKey: createApiKey('admin', 'P', new Uint8Array(32).fill(1)) }],
  ['a key of the other kind in its body', 403, { writeKey: SDK_KEY }],
  ['an unknown key in a header', 401, {}, { 'X-Api-Key': 'nv_admin_unknown' }],
  ['no tokens', 429, { writeKey: KEY }],
])('a body with %s is not parsed', async (_what, status, body, headers) => {
  let parsed = 0
  const parseBody = (bytes: Uint8Array) => {
    parsed += 1
    return parseUncheckedJson(bytes)
  }
  const route = { method: 'POST', pattern: '/test', keyKind: 'admin', keyIn: 'basic-or-body', parseBody } as const
  const rateLimiter = { take: async () => ({ isAllowed: status !== 429, remaining: 0, moreInSeconds: 1 }) }
  const url = await givenRoute({ ...route, handle: async () => answer(200, {}) }, answerRequestParts({ rateLimiter }))
  const send = (given: object) => fetch(url, { method: 'POST', headers: { ...headers }, body: JSON.stringify(given) })
  expect([(await send(body)).status, parsed]).toEqual([status, 0])
})

it('a request without a valid key is no question to the sampler, and takes no room of the traces of others', async () => {
  const asked: string[] = []
  const traceparents: string[] = []
  const parts = answerRequestParts({
    sample: (traceId) => asked.push(traceId) > 0,
    onAnswered: (_route, _status, _durationMs, traceparent) => void traceparents.push(traceparent),
  })
  const route = { method: 'GET', pattern: '/test', keyKind: 'admin', handle: async () => answer(200, {}) } as const
  const url = await givenRoute(route, parts)
  const traceIds = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(32))
  const keys = [undefined, 'nv_admin_unknown', SDK_KEY, KEY]
  for (const [index, traceId] of traceIds.entries()) {
    const traceparent = `00-${traceId}-${'1'.repeat(16)}-01`
    const key = keys[index]
    await (await fetch(url, { headers: { traceparent, ...(key && { 'X-Api-Key': key }) } })).text()
  }
  expect(asked).toEqual(traceIds.slice(3))
  const flags = traceparents.map((traceparent) => [traceparent.slice(3, 35), traceparent.slice(-2)])
  expect(flags).toEqual(traceIds.map((traceId) => [traceId, traceId === traceIds[3] ? '01' : '00']))
})

const failing = {
  method: 'GET',
  pattern: '/test',
  keyKind: 'admin',
  handle: () => Promise.reject(new Error('a bug')),
} as const

it('lines of the log have the trace id of a sampled request, and of no other', async () => {
  const lines: Readonly<Record<string, unknown>>[] = []
  const logger = createLogger('spec', 'debug', { write: (line) => void lines.push(JSON.parse(line)) })
  const [sampled, other] = ['a'.repeat(32), 'b'.repeat(32)]
  const parts = answerRequestParts({ logger, sample: (traceId) => traceId === sampled })
  const url = await givenRoute(failing, parts)
  for (const traceId of [sampled, other]) {
    const traceparent = `00-${traceId}-${'1'.repeat(16)}-01`
    await (await fetch(url, { headers: { traceparent, 'X-Api-Key': KEY } })).text()
  }
  expect(lines.map(({ msg, trace_id }) => [msg, trace_id])).toEqual([
    ['A request failed', sampled],
    ['Answered', sampled],
    ['A request failed', undefined],
    ['Answered', undefined],
  ])
})
