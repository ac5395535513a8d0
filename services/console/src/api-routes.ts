import type { z } from 'zod'
import type { catalogApi } from './catalog/api.ts'
import type { changesApi } from './changes/api.ts'
import type { deadLettersApi } from './dead-letters/api.ts'
import type { erasuresApi } from './erasures/api.ts'
import type { formsApi } from './forms/api.ts'
import type { liveApi } from './live/api.ts'
import type { operationsApi } from './operations/api.ts'
import type { overviewApi } from './overview/api.ts'
import type { registryApi } from './registry/api.ts'
import type { replayApi } from './replay/api.ts'
import type { segmentsApi } from './segments/api.ts'
import type { sessionApi } from './session/api.ts'
import type { simulationApi } from './simulation/api.ts'
import type { tryItApi } from './try-it/api.ts'
import type { usersApi } from './users/api.ts'
import type { webhooksApi } from './webhooks/api.ts'

/**
 * Method and path (below `api/`) of every route of the console's API, by name. `:name` is a member of the route's input.
 * Pages import this map: import only types here.
 */
export const API_ROUTES = {
  readSession: { method: 'GET', path: 'session' },
  readSignIn: { method: 'GET', path: 'session/ways' },
  signIn: { method: 'POST', path: 'session' },
  signOut: { method: 'DELETE', path: 'session' },

  readOverview: { method: 'GET', path: 'overview' },
  readLive: { method: 'GET', path: 'live' },

  listProjects: { method: 'GET', path: 'projects' },
  // POST: proxies log addresses, and a userName must not appear in a log.
  findUser: { method: 'POST', path: 'users/find' },
  readUser: { method: 'GET', path: 'users/:organization/:project/:userId' },
  readUserForms: { method: 'GET', path: 'users/:organization/:project/:userId/forms' },
  readTimeline: { method: 'GET', path: 'users/:organization/:project/:userId/timeline' },
  revealUser: { method: 'POST', path: 'users/:organization/:project/:userId/reveal' },
  exportUser: { method: 'POST', path: 'users/:organization/:project/:userId/export' },

  eraseUser: { method: 'POST', path: 'users/:organization/:project/:userId/erase' },
  listErasures: { method: 'GET', path: 'erasures/:organization/:project' },
  readErasure: { method: 'GET', path: 'erasures/:organization/:project/:erasureId' },
  listSuppressions: { method: 'GET', path: 'suppressions/:organization/:project' },
  liftSuppression: { method: 'POST', path: 'suppressions/:organization/:project/lift' },

  listForms: { method: 'GET', path: 'forms/:organization/:project' },
  readForm: { method: 'GET', path: 'forms/:organization/:project/:formId' },
  readFormResults: { method: 'GET', path: 'forms/:organization/:project/:formId/results' },
  readFormAnswers: { method: 'GET', path: 'forms/:organization/:project/:formId/answers' },
  revealFormAnswers: { method: 'POST', path: 'forms/:organization/:project/:formId/answers/reveal' },
  readFormQueue: { method: 'GET', path: 'forms/:organization/:project/:formId/queue' },
  readFormContent: { method: 'GET', path: 'forms/:organization/:project/:formId/content' },
  readSimulation: { method: 'GET', path: 'simulation' },
  startSimulation: { method: 'POST', path: 'simulation/start' },
  stopSimulation: { method: 'POST', path: 'simulation/stop' },

  listSegments: { method: 'GET', path: 'segments/:organization/:project' },
  readSegment: { method: 'GET', path: 'segments/:organization/:project/:segmentId' },
  revealSegment: { method: 'POST', path: 'segments/:organization/:project/:segmentId/reveal' },

  listEndpoints: { method: 'GET', path: 'webhooks/:organization/:project' },
  readEndpoint: { method: 'GET', path: 'webhooks/:organization/:project/:endpointId' },
  listDeliveries: { method: 'GET', path: 'webhooks/:organization/:project/:endpointId/deliveries' },
  readDelivery: { method: 'GET', path: 'webhooks/:organization/:project/:endpointId/deliveries/:deliveryId' },
  revealDelivery: { method: 'POST', path: 'webhooks/:organization/:project/:endpointId/deliveries/:deliveryId/reveal' },
  listUserDeliveries: { method: 'GET', path: 'users/:organization/:project/:userId/deliveries' },
  enableEndpoint: { method: 'POST', path: 'webhooks/:organization/:project/:endpointId/enable' },
  testEndpoint: { method: 'POST', path: 'webhooks/:organization/:project/:endpointId/test' },
  retryDelivery: { method: 'POST', path: 'webhooks/:organization/:project/:endpointId/deliveries/:deliveryId/retry' },
  retryFailed: { method: 'POST', path: 'webhooks/:organization/:project/:endpointId/retry' },
  startWebhookReplay: { method: 'POST', path: 'webhooks/:organization/:project/:endpointId/replay' },

  readUsage: { method: 'GET', path: 'registry/:organization/:project/usage' },
  listNames: { method: 'GET', path: 'registry/:organization/:project/:kind' },

  listConsumers: { method: 'GET', path: 'consumers' },
  listDeadLetters: { method: 'GET', path: 'dead-letters/:service' },
  readDeadLetter: { method: 'GET', path: 'dead-letters/:service/:id' },
  revealDeadLetter: { method: 'POST', path: 'dead-letters/:service/:id/reveal' },
  decideDeadLetters: { method: 'POST', path: 'dead-letters/decide' },
  readDecision: { method: 'GET', path: 'dead-letters/:service/decisions/:decidedAt' },
  listDecidedDeadLetters: { method: 'GET', path: 'decided-letters/:service' },
  readDeadLettersOfRecord: { method: 'GET', path: 'records/:topic/:partition/:offset/dead-letters' },
  setRecordAside: { method: 'POST', path: 'halts/set-aside' },

  listRevisions: { method: 'GET', path: 'catalog' },
  listChanges: { method: 'GET', path: 'changes' },
  readReplay: { method: 'GET', path: 'replay' },
  startReplay: { method: 'POST', path: 'replay/start' },
  stopReplay: { method: 'POST', path: 'replay/stop' },

  tryIdentify: { method: 'POST', path: 'try/identify' },
  tryTrack: { method: 'POST', path: 'try/track' },
  tryVisit: { method: 'POST', path: 'try/visit' },
  tryAnswer: { method: 'POST', path: 'try/answer' },
} as const

export type ApiName = keyof typeof API_ROUTES

/** Body of every error answer. */
export interface ErrorAnswer {
  /** Code for programs, such as `signed-out`. */
  readonly error: string
  /** The problem and its remedy, for people. */
  readonly message: string
}

/** Schemas of every route by name. Only types, so the bundle of the pages contains no zod. */
export type Api = typeof catalogApi &
  typeof changesApi &
  typeof deadLettersApi &
  typeof erasuresApi &
  typeof formsApi &
  typeof liveApi &
  typeof operationsApi &
  typeof overviewApi &
  typeof registryApi &
  typeof replayApi &
  typeof segmentsApi &
  typeof sessionApi &
  typeof simulationApi &
  typeof tryItApi &
  typeof usersApi &
  typeof webhooksApi

/** Input of a route, as a page sends it. */
export type Input<Name extends ApiName> = z.input<Api[Name]['input']>

/** Answer of a route. */
export type Answer<Name extends ApiName> = z.output<Api[Name]['answer']>
