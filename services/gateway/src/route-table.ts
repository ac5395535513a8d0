import type { KeyKind } from '@nextvisit/contracts'

/** What is known of a route without running it. */
export interface RouteSignature {
  readonly method: 'GET' | 'POST'
  /** With `{name}` for a part that varies. */
  readonly pattern: string
  /** Which kind of key it takes. Routes for SDK keys answer CORS. */
  readonly keyKind: KeyKind
  /** Dispatched by the HTTP server itself, before Express (design.md, decision 5). Its pattern is fixed. */
  readonly isIngestion: boolean
}

/** Every route that takes a key, by its operation's id: it drives the server, Express and OpenAPI alike. */
export const ROUTES = {
  identifyUser: { method: 'POST', pattern: '/v2/admin/identify-user', keyKind: 'admin', isIngestion: true },
  trackEvent: { method: 'POST', pattern: '/v2/admin/track-event', keyKind: 'admin', isIngestion: true },
  visit: { method: 'POST', pattern: '/v2/sdk/identify-user', keyKind: 'sdk', isIngestion: true },
  trackSdkEvent: { method: 'POST', pattern: '/v2/sdk/track-event', keyKind: 'sdk', isIngestion: true },
  getUser: { method: 'GET', pattern: '/v2/admin/users/{userName}', keyKind: 'admin', isIngestion: false },
  findUser: { method: 'GET', pattern: '/v2/admin/users', keyKind: 'admin', isIngestion: false },
  getUserForms: { method: 'GET', pattern: '/v2/admin/users/{userName}/forms', keyKind: 'admin', isIngestion: false },
  getUsage: { method: 'GET', pattern: '/v2/admin/usage', keyKind: 'admin', isIngestion: false },
  listTraits: { method: 'GET', pattern: '/v2/admin/traits', keyKind: 'admin', isIngestion: false },
  listEvents: { method: 'GET', pattern: '/v2/admin/events', keyKind: 'admin', isIngestion: false },
  listSegments: { method: 'GET', pattern: '/v2/admin/segments', keyKind: 'admin', isIngestion: false },
  listSegmentUsers: {
    method: 'GET',
    pattern: '/v2/admin/segments/{segmentId}/users',
    keyKind: 'admin',
    isIngestion: false,
  },
} as const satisfies Record<string, RouteSignature>

export type OperationId = keyof typeof ROUTES
