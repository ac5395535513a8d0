import { randomUUID } from 'node:crypto'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import {
  DISABLED_IN_FILE,
  TEST_IS_SENT_ONCE,
  TOO_MANY_REPLAYS,
  TOO_MANY_REPLAYS_KEPT,
  TOO_MANY_TESTS,
  TOO_MANY_TESTS_A_DAY,
  WEBHOOK_EVENTS,
  type WebhookDelivery,
  type WebhookDeliveryDetail,
  type WebhookEndpoint,
} from '@nextvisit/contracts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { createLogger } from '@nextvisit/service-kit'
import { describe, expect, it } from 'vitest'
import { givenNoServices } from '../../test/given-no-services.ts'
import { callRoute, givenSession } from '../../test/given-session.ts'
import { answered, refuse } from '../http/api-route.ts'
import { NOT_FOUND, noAnswerOf } from '../services.ts'
import { webhooksApi } from './api.ts'
import { createWebhookRoutes } from './routes.ts'

const AT = '2026-11-28T03:00:00.000Z'
const BETWEEN = '2026-11-28T03:30:00.000Z'
const LATER = '2026-11-28T04:00:00.000Z'
const crm = { organization: 'acme', project: 'shop', endpointId: 'crm' }
const [ada, grace] = [randomUUID(), randomUUID()]
const webhook = (id: string) => ({ id, url: `https://${id}.example/`, secret: 'sealed', addedAt: AT })
const lookups = staticCatalog([
  organizationConfig({ id: 'acme', projects: [{ id: 'shop', webhooks: [webhook('crm'), webhook('mail')] }] }),
])

const endpoint: WebhookEndpoint = {
  id: 'crm',
  url: 'https://user:word@crm.example/hooks/T0/secret?token=1',
  include: ['traits'],
  state: 'live',
  addedAt: AT,
  behind: 0,
  pending: 1,
  failed: 2,
  replays: [],
}
const deliveryOf = (special: Partial<WebhookDelivery> = {}): WebhookDelivery => ({
  deliveryId: randomUUID(),
  webhookId: randomUUID(),
  type: 'form.answered',
  userId: ada,
  status: 'failed',
  attempts: 1,
  timestamp: AT,
  createdAt: AT,
  ...special,
})
const delivery: WebhookDeliveryDetail = {
  ...deliveryOf(),
  body: '{"answers":{"reason":"too slow"}}',
  attemptLog: [{ at: AT, durationMs: 12, outcome: 'refused', httpStatus: 500, response: 'no user too slow' }],
}
const path = { ...crm, deliveryId: delivery.deliveryId }

const services = givenNoServices()
type Services = typeof services
type Own = { [Name in 'dispatcher' | 'gateway' | 'projector']?: Partial<Services[Name]> }

/** Creates the routes beside a dispatcher with one endpoint, a gateway without erasures, and a projector that knows Ada. */
function givenRoutes(own: Own = {}) {
  const logged: string[] = []
  const routes = createWebhookRoutes({
    catalog: async () => ({ ...lookups, projects: () => [...lookups.projects()] }),
    dispatcher: {
      ...services.dispatcher,
      readEndpoints: async () => answered({ webhooks: [endpoint], countedUpTo: 100_000 }),
      readDelivery: async () => answered(delivery),
      ...own.dispatcher,
    },
    gateway: {
      ...services.gateway,
      readKnownErasures: async () => answered({ users: [{ isSuppressed: false }] }),
      ...own.gateway,
    },
    projector: {
      ...services.projector,
      readUserNames: async ({ questions }) =>
        answered({ answers: questions.map(({ userId }) => ({ userName: userId === ada ? 'ada@example.com' : null })) }),
      ...own.projector,
    },
    logger: createLogger('console', 'info', { write: (line: string) => void logged.push(line) }),
    nowMs: () => Date.parse(LATER),
  })
  const as = (session: ReturnType<typeof givenSession>) => async (name: keyof typeof routes, input: object) => {
    const result = await callRoute(routes[name], input, session)
    return result.outcome === 'refused' ? result.error : result.answer
  }
  return { logged, as, call: as(givenSession('operator')), look: as(givenSession('viewer')) }
}

function namesIn(answer: unknown) {
  const { deliveries } = answer as { readonly deliveries: readonly { readonly userName: string | null }[] }
  return deliveries.map(({ userName }) => userName)
}

/** Lists the deliveries of Ada to all endpoints. */
function listOfAda(readDeliveries: Services['dispatcher']['readDeliveries']) {
  const { call } = givenRoutes({ dispatcher: { readDeliveries } })
  return call('listUserDeliveries', { organization: 'acme', project: 'shop', userId: ada })
}

describe('an endpoint', () => {
  it('has its whole address for operators, and only the host for viewers: the path may be a secret', async () => {
    const { call, look } = givenRoutes()
    expect(await call('readEndpoint', crm)).toEqual({
      at: LATER,
      isStale: false,
      countedUpTo: 100_000,
      endpoint,
      wanted: WEBHOOK_EVENTS,
    })
    expect(await look('readEndpoint', crm)).toMatchObject({ endpoint: { url: 'https://crm.example/•••' } })
    expect(JSON.stringify(await look('listEndpoints', crm))).not.toMatch(/secret|token|word/)
  })

  it('is unknown in a project that has none of this name', async () => {
    expect(await givenRoutes().call('readEndpoint', { ...crm, endpointId: 'mail' })).toBe('no-endpoint')
    expect(await givenRoutes().call('listEndpoints', { ...crm, project: 'blog' })).toBe('no-project')
  })

  it('is not enabled if the workspace file disables it, and the answer says so', async () => {
    const { call } = givenRoutes({ dispatcher: { enableEndpoint: async () => answered(DISABLED_IN_FILE) } })
    expect(await call('enableEndpoint', crm)).toBe('disabled-in-file')
  })

  it('is not replayed while too many replays of it are not complete', async () => {
    const { call } = givenRoutes({ dispatcher: { replay: async () => answered(TOO_MANY_REPLAYS) } })
    expect(await call('startWebhookReplay', { ...crm, from: AT })).toBe('too-many-replays')
  })

  it('is not replayed after too many replays in 30 days, nor tested after too many tests in a day', async () => {
    const { call } = givenRoutes({
      dispatcher: {
        replay: async () => answered(TOO_MANY_REPLAYS_KEPT),
        testEndpoint: async () => answered(TOO_MANY_TESTS_A_DAY),
        retryDelivery: async () => answered(TEST_IS_SENT_ONCE),
      },
    })
    expect(await call('startWebhookReplay', { ...crm, from: AT })).toBe('no-replays-left')
    expect(await call('testEndpoint', crm)).toBe('no-tests-left')
    expect(await call('retryDelivery', { ...crm, deliveryId: delivery.deliveryId })).toBe('test-is-sent-once')
  })

  it('is not tested while too many tests of it are pending', async () => {
    const { call, logged } = givenRoutes({ dispatcher: { testEndpoint: async () => answered(TOO_MANY_TESTS) } })
    expect([await call('testEndpoint', crm), logged]).toEqual(['too-many-tests', []])
  })
})

describe('the deliveries', () => {
  it('of an endpoint have the names of users, which viewers see masked', async () => {
    const asked: unknown[] = []
    const deliveries = [ada, grace, ada, undefined].map((userId) => deliveryOf({ userId }))
    const { call, look } = givenRoutes({
      dispatcher: {
        readDeliveries: async (question) => {
          asked.push(question)
          return answered({ deliveries, next: 'a-cursor' })
        },
      },
    })
    const page = await call('listDeliveries', { ...crm, status: 'failed', userId: ada, after: 'cursor' })
    expect(page).toMatchObject({ next: 'a-cursor', isStale: false })
    expect(asked).toEqual([{ ...crm, status: 'failed', userId: ada, after: 'cursor', limit: 50 }])
    expect(namesIn(page)).toEqual(['ada@example.com', null, 'ada@example.com', null])
    expect(namesIn(await look('listDeliveries', crm))).toEqual(['a•••', null, 'a•••', null])
  })

  it('of a user are those to all endpoints, newest first', async () => {
    const listed = await listOfAda(async ({ endpointId }) =>
      endpointId === 'crm'
        ? answered({ deliveries: [LATER, AT].map((createdAt) => deliveryOf({ createdAt })), next: 'more' })
        : answered({ deliveries: [deliveryOf({ createdAt: BETWEEN })], next: null, stale: true }),
    )
    expect(listed).toMatchObject({
      deliveries: [{ endpointId: 'crm', createdAt: LATER }, { endpointId: 'mail' }, { endpointId: 'crm' }],
      endpoints: [
        { endpointId: 'crm', hasMore: true },
        { endpointId: 'mail', hasMore: false },
      ],
      isStale: true,
    })
  })

  it('of a user are none to an endpoint that the dispatcher does not know yet, and unknown while it does not answer', async () => {
    expect(await listOfAda(async () => refuse(404, NOT_FOUND, 'nothing'))).toMatchObject({ deliveries: [] })
    expect(await listOfAda(async () => noAnswerOf('webhook-dispatcher'))).toBe('no-answer')
  })
})

describe('a delivery', () => {
  const bodies = { body: delivery.body, attemptLog: delivery.attemptLog }

  it('has the body of its request and of each response, for viewers once they reveal it', async () => {
    const { call, as } = givenRoutes()
    expect(await call('readDelivery', path)).toEqual({ ...delivery, withheld: null })
    const look = as(givenSession('viewer'))
    const masked = await look('readDelivery', path)
    expect(masked).toMatchObject({ withheld: 'masked', attemptLog: [{ httpStatus: 500, durationMs: 12 }] })
    expect(JSON.stringify(masked)).not.toContain('too slow')
    await look('revealDelivery', { ...path, deliveryId: randomUUID() })
    expect(await look('readDelivery', path)).toMatchObject({ withheld: 'masked' })
    await look('revealDelivery', path)
    expect(await look('readDelivery', path)).toMatchObject({ withheld: null, ...bodies })
  })

  it.each([
    ['the user is suppressed', { isSuppressed: true }, 'erased'],
    ['the user was erased after it', { isSuppressed: false, keysUntil: LATER }, 'erased'],
    [
      'the user was erased before it, and has returned',
      { isSuppressed: false, keysUntil: '2026-11-28T02:00:00.000Z' },
      null,
    ],
  ])('shows no bodies while the dispatcher lags behind an erasure: %s', async (_, erasure, withheld) => {
    const { call } = givenRoutes({ gateway: { readKnownErasures: async () => answered({ users: [erasure] }) } })
    const shown = await call('readDelivery', path)
    expect(shown).toMatchObject({ withheld })
    expect(JSON.stringify(shown).includes('too slow')).toBe(withheld === null)
  })

  it.each([
    ['does not answer', async () => noAnswerOf('gateway')],
    ['has not read the erasures', async () => answered({ users: null })],
  ])('shows no bodies of a user while the gateway %s', async (_, readKnownErasures) => {
    const gateway = { readKnownErasures }
    const shown = await givenRoutes({ gateway }).call('readDelivery', path)
    expect(shown).toMatchObject({ withheld: 'unknown' })
    expect(JSON.stringify(shown)).not.toContain('too slow')
    // These are about no person.
    for (const special of [{ type: 'user.erased' as const }, { type: 'webhook.test' as const, userId: undefined }]) {
      const readDelivery = async () => answered({ ...delivery, ...special })
      expect(await givenRoutes({ gateway, dispatcher: { readDelivery } }).call('readDelivery', path)).toMatchObject({
        withheld: null,
        ...bodies,
      })
    }
  })

  it('is unknown once it is deleted', async () => {
    const { call } = givenRoutes({ dispatcher: { readDelivery: async () => refuse(404, NOT_FOUND, 'nothing') } })
    expect(await call('readDelivery', path)).toBe('no-delivery')
  })
})

describe('a command', () => {
  const replayId = randomUUID()
  const { logged, call } = givenRoutes({
    dispatcher: {
      replay: async () => answered({ replayId }),
      retryFailed: async () => answered({ retried: 7 }),
      testEndpoint: async () => answered({ deliveryId: delivery.deliveryId }),
    },
  })

  it.each([
    ['startWebhookReplay', { from: AT, events: ['form.answered'] }, { replayId }, 'webhook replay begun'],
    ['retryFailed', { from: AT, to: LATER }, { retried: 7 }, 'webhook deliveries retried'],
    ['testEndpoint', {}, { deliveryId: delivery.deliveryId }, 'webhook test begun'],
  ] as const)('%s is logged with its result', async (name, input, answer, action) => {
    expect(await call(name, { ...crm, ...input })).toEqual(answer)
    expect(JSON.parse(logged.at(-1) ?? '')).toMatchObject({ action, by: 'Ada', ...crm, ...answer })
  })

  it.each(['retryFailed', 'startWebhookReplay'] as const)(
    '%s is refused for a period that ends before it begins',
    (name) => {
      const { input } = webhooksApi[name]
      expect(input.safeParse({ ...crm, from: AT }).success).toBe(true)
      expect(input.safeParse({ ...crm, from: AT, to: LATER }).success).toBe(true)
      expect(input.safeParse({ ...crm, from: LATER, to: AT }).error?.issues).toMatchObject([
        { path: ['to'], message: 'must be later than from' },
      ])
    },
  )

  it.each(['enableEndpoint', 'testEndpoint', 'retryDelivery', 'retryFailed', 'startWebhookReplay'] as const)(
    '%s is for operators only',
    (name) => {
      expect(webhooksApi[name].role).toBe('operator')
    },
  )
})
