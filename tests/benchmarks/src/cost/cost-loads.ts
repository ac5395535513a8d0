import { requestBytes } from '../load/request-bytes.ts'

export const LOADS = ['events', 'properties', 'identifies', 'visits', 'forms', 'batches', 'answers'] as const
export type LoadName = (typeof LOADS)[number]

/** Requests of one kind, for all users in turn. */
export interface CostLoad {
  readonly next: () => Buffer
  /** Number of events that a request counts as. */
  readonly eventsPerRequest: number
  /** Text in the body of every timely answer; other answers count as late. */
  readonly expected: string
}

/** A form that a user got, as answers name it. */
export interface ShownForm {
  readonly userName: string
  readonly offerId: string
  readonly formId: string
  readonly revision: number
}

interface LoadTarget {
  readonly gatewayUrl: string
  readonly keys: { readonly admin: string; readonly sdk: string }
}

/** Number of users, shared by all loads and identified before the first measurement. */
export const USERS = 4_000
/** Number of forms in benchmark-workspace.yaml, each with an event. A form is queued once per user. */
const SURVEYS = 10
const EVENTS_PER_BATCH = 100
const ROUTES = {
  events: '/v2/admin/track-event',
  properties: '/v2/admin/track-event',
  identifies: '/v2/admin/identify-user',
  visits: '/v2/sdk/identify-user',
  forms: '/v2/admin/track-event',
  batches: '/v2/admin/batch',
  answers: '/v2/sdk/answers',
}
const EXPECTED = {
  events: '"triggersEvaluated":true',
  properties: '"triggersEvaluated":true',
  identifies: '"userId"',
  visits: '"userId"',
  forms: '"formsQueued":1',
  batches: '"status":202',
  answers: '"status":"partial"',
}

/** Prepares the requests of a load, so that sending them costs little. `shown`: for answers. */
export function createCostLoad(
  name: LoadName,
  { gatewayUrl, keys }: LoadTarget,
  shown: readonly ShownForm[] = [],
): CostLoad {
  const apiKey = ['visits', 'answers'].includes(name) ? keys.sdk : keys.admin
  const requests = bodiesOf(name, shown).map((body) =>
    requestBytes({ url: gatewayUrl, route: ROUTES[name], apiKey, body }),
  )
  let sent = 0
  return {
    next: () => requests[sent++ % requests.length] ?? Buffer.alloc(0),
    eventsPerRequest: name === 'batches' ? EVENTS_PER_BATCH : 1,
    expected: EXPECTED[name],
  }
}

/** Returns one round of requests. Consecutive requests have different users. */
function bodiesOf(name: LoadName, shown: readonly ShownForm[]): object[] {
  switch (name) {
    case 'events':
      // Without properties: the gateway drops `note`, which only makes the body as long as that of `properties`.
      return forEveryUser((userName) => ({ userName, eventName: 'Page Viewed', note: 'x'.repeat(200) }))
    case 'properties':
      return forEveryUser((userName) => ({
        userName,
        eventName: 'Page Viewed',
        properties: { note: 'x'.repeat(200) },
      }))
    case 'batches':
      // The same events, in batches.
      return inBatches(bodiesOf('events', []).map((body) => ({ type: 'track', ...body })))
    case 'identifies':
      // Each round sets another value, so that each request saves a change.
      return ['free', 'pro'].flatMap((plan) =>
        forEveryUser((userName) => ({ userName, userAttributes: { $set: { plan, note: 'x'.repeat(200) } } })),
      )
    case 'visits':
      return forEveryUser((userName) => ({ userName, $deviceInfo: { $deviceOs: 'iOS', $countryCode: 'DE' } }))
    case 'forms':
      return Array.from({ length: SURVEYS }, (_, survey) =>
        forEveryUser((userName) => ({ userName, eventName: `Survey ${survey}`, note: 'x'.repeat(200) })),
      ).flat()
    case 'answers':
      // Each round gives another score, so that each request saves a change.
      return [3, 9].flatMap((score) => shown.map((form) => ({ ...form, answers: { score }, status: 'partial' })))
  }
}

function forEveryUser(body: (userName: string) => object): object[] {
  return Array.from({ length: USERS }, (_, index) => body(`user-${index}`))
}

function inBatches(items: readonly object[]): object[] {
  return Array.from({ length: items.length / EVENTS_PER_BATCH }, (_, batch) => ({
    items: items.slice(batch * EVENTS_PER_BATCH, (batch + 1) * EVENTS_PER_BATCH),
  }))
}
