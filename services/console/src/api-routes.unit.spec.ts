import { expect, it } from 'vitest'
import { API_ROUTES, type ApiName } from './api-routes.ts'
import { catalogApi } from './catalog/api.ts'
import { changesApi } from './changes/api.ts'
import { deadLettersApi } from './dead-letters/api.ts'
import { erasuresApi } from './erasures/api.ts'
import { formsApi } from './forms/api.ts'
import type { RouteDefinition } from './http/define-route.ts'
import { liveApi } from './live/api.ts'
import { operationsApi } from './operations/api.ts'
import { overviewApi } from './overview/api.ts'
import { registryApi } from './registry/api.ts'
import { replayApi } from './replay/api.ts'
import { segmentsApi } from './segments/api.ts'
import type { sessionApi } from './session/api.ts'
import { simulationApi } from './simulation/api.ts'
import { tryItApi } from './try-it/api.ts'
import { usersApi } from './users/api.ts'
import { webhooksApi } from './webhooks/api.ts'

/** Every route except the session routes. A missing screen does not compile. */
const ROUTES: Readonly<Record<Exclude<ApiName, keyof typeof sessionApi>, RouteDefinition>> = {
  ...catalogApi,
  ...changesApi,
  ...deadLettersApi,
  ...erasuresApi,
  ...formsApi,
  ...liveApi,
  ...operationsApi,
  ...overviewApi,
  ...registryApi,
  ...replayApi,
  ...segmentsApi,
  ...simulationApi,
  ...tryItApi,
  ...usersApi,
  ...webhooksApi,
}

/** Routes of operators that record no change themselves, with the reason. */
const NOT_RECORDED: Readonly<Record<string, string>> = {
  startReplay: 'nextvisit replay, which it starts, records consumer.replay in the name of the person',
  exportUser: 'nextvisit users export, which it starts, records person.export in the name of the person',
  startSimulation: 'reads the past and changes nothing',
  stopSimulation: 'reads the past and changes nothing',
  tryIdentify: 'a request of the demo, to the gateway',
  tryTrack: 'a request of the demo, to the gateway',
  tryVisit: 'a request of the demo, to the gateway',
  tryAnswer: 'a request of the demo, to the gateway',
}

it('each route that only operators may call records a change, or says here why it does not', () => {
  const silent = Object.entries(ROUTES).flatMap(([name, { role, change }]) =>
    role === 'operator' && !change ? [name] : [],
  )
  expect(silent.toSorted()).toEqual(Object.keys(NOT_RECORDED).toSorted())
})

it('no route that a viewer may call, and no GET, records a change', () => {
  const recorded = Object.entries(ROUTES).flatMap(([name, { role, change }]) =>
    change && (role === 'viewer' || API_ROUTES[name as ApiName].method === 'GET') ? [name] : [],
  )
  expect(recorded).toEqual([])
})
