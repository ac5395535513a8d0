import {
  DISABLED_IN_FILE,
  MAX_PENDING_TESTS,
  MAX_REPLAYS_KEPT,
  MAX_TESTS_A_DAY,
  MAX_UNFINISHED_REPLAYS,
  TEST_IS_SENT_ONCE,
  TOO_MANY_REPLAYS,
  TOO_MANY_REPLAYS_KEPT,
  TOO_MANY_TESTS,
  TOO_MANY_TESTS_A_DAY,
  type WebhookDelivery,
  type WebhookDeliveryDetail,
  type WebhookEndpoint,
  WebhookEvent,
} from '@nextvisit/contracts'
import { createInProject } from '../catalog/find-project.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, refuse, serveApi } from '../http/api-route.ts'
import { sessionFields } from '../http/app.ts'
import { MASK, maskFor, revealedName } from '../http/mask.ts'
import type { Session } from '../http/sessions.ts'
import { NOT_FOUND, named } from '../services.ts'
import { createReadUserNames } from '../user-names.ts'
import { type DeliveryPath, type EndpointPath, webhooksApi, type Withheld } from './api.ts'

const DELIVERIES_A_PAGE = 50
/** Of each endpoint, in the list of a user. */
const DELIVERIES_OF_USER = 20

const NO_ENDPOINT = refuse(
  404,
  'no-endpoint',
  'The project has no such webhook endpoint. If the workspace file has it, the dispatcher has not read the file yet.',
)
const NO_DELIVERY = refuse(
  404,
  'no-delivery',
  'The endpoint has no such delivery. Deliveries are deleted 30 days after they end, and with their user or endpoint.',
)
const IN_FILE = refuse(
  409,
  'disabled-in-file',
  'The workspace file disables this endpoint. Set enabled: true there, and run nextvisit apply FILE.',
)

const NO_MORE_REPLAYS = refuse(
  409,
  'too-many-replays',
  `The endpoint has ${MAX_UNFINISHED_REPLAYS} replays that are not complete. Wait until one is.`,
)

const NO_MORE_TESTS = refuse(
  409,
  'too-many-tests',
  `The endpoint has ${MAX_PENDING_TESTS} tests that are not attempted yet. Wait until one is.`,
)

const NO_REPLAYS_LEFT = refuse(
  409,
  'no-replays-left',
  `The endpoint has had ${MAX_REPLAYS_KEPT} replays in 30 days. One replay can send a longer range.`,
)

const NO_TESTS_LEFT = refuse(409, 'no-tests-left', `The endpoint has had ${MAX_TESTS_A_DAY} tests in 24 hours.`)

const ONLY_ONCE = refuse(409, 'test-is-sent-once', 'A test is sent once. Send another one.')

type WebhookRoutesParts = Pick<Dependencies, 'catalog' | 'dispatcher' | 'gateway' | 'projector' | 'logger' | 'nowMs'>

/** Creates the routes about endpoints of webhooks and their deliveries. */
export function createWebhookRoutes(parts: WebhookRoutesParts) {
  const { catalog, dispatcher, gateway, logger, nowMs } = parts
  const inProject = createInProject(catalog)
  const readUserNames = createReadUserNames(parts)
  const now = () => new Date(nowMs()).toISOString()

  /** Logs the result of a command. The server has logged its input. */
  function note(action: string, session: Session, path: EndpointPath, result: object): void {
    const { organization, project, endpointId } = path
    logger.info({ action, ...sessionFields(session), organization, project, endpointId, ...result }, 'console action')
  }

  /** Returns why the session may not see the bodies of a delivery now; null: it may. */
  async function withheldFrom(
    session: Session,
    path: DeliveryPath,
    { type, userId, timestamp }: WebhookDeliveryDetail,
    signal: AbortSignal,
  ): Promise<Withheld | null> {
    if (maskFor(session, nameOf(path)).isMasked) return 'masked'
    // The dispatcher deletes deliveries of erased users, but may lag. `user.erased` contains only ids.
    if (userId === undefined || type === 'user.erased') return null
    const { organization, project } = path
    const known = await gateway.readKnownErasures({ organization, project, userIds: [userId] }, signal)
    const erasure = known.outcome === 'answered' ? known.answer.users?.[0] : undefined
    if (!erasure) return 'unknown'
    const { isSuppressed, keysUntil } = erasure
    return isSuppressed || (keysUntil !== undefined && timestamp <= keysUntil) ? 'erased' : null
  }

  return serveApi(webhooksApi, {
    listEndpoints: inProject(async (_, { organization, project }, session, signal) => {
      const read = await dispatcher.readEndpoints({ organization, project }, signal)
      if (read.outcome === 'refused') return read
      const { webhooks, stale: isStale = false, countedUpTo } = read.answer
      return answered({
        at: now(),
        isStale,
        countedUpTo,
        endpoints: webhooks.map((one) => shownEndpoint(one, session)),
      })
    }),
    readEndpoint: inProject(async (_, { organization, project, endpointId }, session, signal) => {
      const read = await dispatcher.readEndpoints({ organization, project, endpointId }, signal)
      if (read.outcome === 'refused') return read
      const { webhooks, stale = false, countedUpTo } = read.answer
      const endpoint = webhooks.find(({ id }) => id === endpointId)
      if (!endpoint) return NO_ENDPOINT
      return answered({
        at: now(),
        isStale: stale,
        countedUpTo,
        endpoint: shownEndpoint(endpoint, session),
        wanted: endpoint.events ?? WebhookEvent.options,
      })
    }),
    listDeliveries: inProject(async (_, query, session, signal) => {
      const read = await dispatcher.readDeliveries({ ...query, limit: DELIVERIES_A_PAGE }, signal)
      const page = named(read, NO_ENDPOINT)
      if (page.outcome === 'refused') return page
      const { deliveries, next, stale = false } = page.answer
      const userIds = [...new Set(deliveries.flatMap(({ userId }) => userId ?? []))]
      const names = await readUserNames(userIds, query, signal)
      const nameById = new Map(userIds.map((userId, index) => [userId, names[index] ?? null]))
      const shownName = ({ userId }: WebhookDelivery): string | null => {
        const name = userId === undefined ? null : (nameById.get(userId) ?? null)
        if (userId === undefined || name === null) return null
        return maskFor(session, revealedName({ ...query, userId })).userName(name)
      }
      const shown = deliveries.map((delivery) => ({ ...delivery, userName: shownName(delivery) }))
      return answered({ deliveries: shown, next, isStale: stale })
    }),
    readDelivery: inProject(async (_, path, session, signal) => {
      const read = named(await dispatcher.readDelivery(path, signal), NO_DELIVERY)
      if (read.outcome === 'refused') return read
      const withheld = await withheldFrom(session, path, read.answer, signal)
      return answered({ ...(withheld === null ? read.answer : withoutBodies(read.answer)), withheld })
    }),
    revealDelivery: inProject(async (_, path, { revealed }) => {
      await revealed.add(nameOf(path))
      return answered({})
    }),
    listUserDeliveries: inProject(async ({ config }, { organization, project, userId }, _session, signal) => {
      const pages = await Promise.all(
        config.webhooks.map(async ({ id: endpointId }) => {
          const query = { organization, project, endpointId, userId, limit: DELIVERIES_OF_USER }
          return { endpointId, read: await dispatcher.readDeliveries(query, signal) }
        }),
      )
      const shown = []
      for (const { endpointId, read } of pages) {
        // The dispatcher may not have read the file yet.
        if (read.outcome === 'refused' && read.error !== NOT_FOUND) return read
        const { deliveries, next, stale = false } = read.outcome === 'refused' ? NO_DELIVERIES : read.answer
        shown.push({ endpointId, deliveries, hasMore: next !== null, stale })
      }
      return answered({
        deliveries: shown
          .flatMap(({ endpointId, deliveries }) => deliveries.map((delivery) => ({ ...delivery, endpointId })))
          .toSorted((one, other) => (one.createdAt < other.createdAt ? 1 : -1)),
        endpoints: shown.map(({ endpointId, hasMore }) => ({ endpointId, hasMore })),
        isStale: shown.some(({ stale }) => stale),
      })
    }),
    enableEndpoint: inProject(async (_, path) => {
      const enabled = named(await dispatcher.enableEndpoint(path), NO_ENDPOINT)
      if (enabled.outcome === 'refused') return enabled
      return enabled.answer === DISABLED_IN_FILE ? IN_FILE : answered({})
    }),
    testEndpoint: inProject(async (_, path, session) => {
      const begun = named(await dispatcher.testEndpoint(path), NO_ENDPOINT)
      if (begun.outcome === 'refused') return begun
      if (begun.answer === TOO_MANY_TESTS) return NO_MORE_TESTS
      if (begun.answer === TOO_MANY_TESTS_A_DAY) return NO_TESTS_LEFT
      note('webhook test begun', session, path, begun.answer)
      return answered(begun.answer)
    }),
    retryDelivery: inProject(async (_, path) => {
      const retried = named(await dispatcher.retryDelivery(path), NO_DELIVERY)
      if (retried.outcome === 'refused') return retried
      return retried.answer === TEST_IS_SENT_ONCE ? ONLY_ONCE : answered(retried.answer)
    }),
    retryFailed: inProject(async (_, input, session) => {
      const retried = named(await dispatcher.retryFailed(input), NO_ENDPOINT)
      if (retried.outcome === 'answered') note('webhook deliveries retried', session, input, retried.answer)
      return retried
    }),
    startWebhookReplay: inProject(async (_, input, session) => {
      const begun = named(await dispatcher.replay(input), NO_ENDPOINT)
      if (begun.outcome === 'refused') return begun
      if (begun.answer === TOO_MANY_REPLAYS) return NO_MORE_REPLAYS
      if (begun.answer === TOO_MANY_REPLAYS_KEPT) return NO_REPLAYS_LEFT
      note('webhook replay begun', session, input, begun.answer)
      return answered(begun.answer)
    }),
  })
}

const NO_DELIVERIES = { deliveries: [], next: null, stale: false }

/** Name among the revealed data of a session. No user has such a name. */
function nameOf({ organization, project, deliveryId }: DeliveryPath): string {
  return `${organization}/${project}/delivery ${deliveryId}`
}

/** Hides the path of an address from viewers: some receivers have their only secret there. */
function shownEndpoint(endpoint: WebhookEndpoint, { role }: Session): WebhookEndpoint {
  return role === 'operator' ? endpoint : { ...endpoint, url: hostOnly(endpoint.url) }
}

function hostOnly(url: string): string {
  const origin = URL.parse(url)?.origin
  return origin === undefined ? MASK : `${origin}/${MASK}`
}

/** Removes the request body, and the bodies of responses, which may quote it. */
function withoutBodies({ body: _body, attemptLog, ...delivery }: WebhookDeliveryDetail): WebhookDeliveryDetail {
  return { ...delivery, attemptLog: attemptLog.map(({ response: _response, ...attempt }) => attempt) }
}
