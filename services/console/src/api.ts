import type { z } from 'zod'
import type { ApiName } from './api-routes.ts'
import type { catalogApi } from './catalog/api.ts'
import type { deadLettersApi } from './dead-letters/api.ts'
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

/** Schemas of every route, by name. Only types: no page contains zod. */
export type Api = typeof catalogApi &
  typeof deadLettersApi &
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
  typeof usersApi

/** Input of a route, as a page sends it. */
export type Input<Name extends ApiName> = z.input<Api[Name]['input']>

/** Answer of a route. */
export type Answer<Name extends ApiName> = z.output<Api[Name]['answer']>
