import type { CatalogView } from '@nextvisit/catalog'
import { CALLS, encodeRecord, type ErasureFact, gatewayCalls, ROUTES, TOPICS } from '@nextvisit/contracts'
import type { LogConnection, Publisher } from '@nextvisit/log'
import { createChangeLog } from '@nextvisit/operator-changes'
import {
  createDependencyLog,
  createRefusalStore,
  createServiceClient,
  type Logger,
  type RedisConnection,
  serveCalls,
  type Tracing,
} from '@nextvisit/service-kit'
import { createSealingKeys, type ErasureView } from '@nextvisit/user-keys'
import { createRecordChange } from './changes/record-change.ts'
import { createKnownUsers } from './admission/known-users.ts'
import { createMetering } from './admission/metering.ts'
import { createTraitRegistry } from './admission/trait-registry.ts'
import { UNAVAILABLE_REASONS } from './refusals/refusals.ts'
import { createSharedRateLimiter } from './billing/shared-rate-limiter.ts'
import type { GatewayConfig } from './config.ts'
import type { GatewayMetrics } from './gateway-metrics.ts'
import { answerErasures } from './erasures/answer-erasures.ts'
import { createCheckSuppression } from './ingest/check-suppression.ts'
import { createErasureRoutes } from './erasures/erasure-routes.ts'
import { createLiftSuppression, createRequestErasure, type PublishErasure } from './erasures/request-erasure.ts'
import { createReadSuppressions } from './erasures/read-suppressions.ts'
import { createApp } from './http/app.ts'
import { createTraceSampler, type SamplerOptions } from './http/trace-sampler.ts'
import { admissionBudgetMs } from './http/request-budget.ts'
import { createCallerAddress } from './http/caller-address.ts'
import { createBatchRoute } from './ingest/batch-route.ts'
import type { CountryOf } from './ingest/caller-country.ts'
import { createFormDelivery } from './ingest/form-delivery.ts'
import { createKeptAnswers } from './idempotency/kept-answers.ts'
import { createKinds } from './ingest/kinds.ts'
import { createRecordMany } from './ingest/record-many.ts'
import { createReadAnswer } from './admission/read-answer.ts'
import { createSegmentComRoutes } from './ingest/segment-com-routes.ts'
import { createSigningSecrets } from './ingest/signing-secrets.ts'
import { createSingleRoute } from './ingest/single-route.ts'
import { createStages } from './ingest/stages.ts'
import { createCheckSignature } from './ingest/user-signature.ts'
import { createVisitRoute } from './ingest/visit-route.ts'
import { createUserEventPublisher } from './publishing/user-event-publisher.ts'
import { createReplyWaiter } from './ingest/reply-waiter.ts'
import { createDocuments } from './openapi/served-documents.ts'
import { createFormRoutes } from './reads/form-routes.ts'
import { createWebhookRoutes } from './webhooks/webhook-routes.ts'
import { createProjectRoutes } from './reads/project-routes.ts'
import { answerRefusals, createListRefusals } from './reads/refusal-routes.ts'
import { createUserRoutes } from './reads/user-routes.ts'
import { createKeptRefusals } from './refusals/kept-refusals.ts'

export interface GatewayParts
  extends Pick<
    GatewayConfig,
    'services' | 'keyRing' | 'requestBudgetMs' | 'maxInFlight' | 'maxBodyBytesInFlight' | 'trustedProxies'
  > {
  /** Id of this process, which names the channel of its replies. */
  readonly instanceId: string
  readonly catalog: CatalogView
  readonly erasures: ErasureView
  readonly connection: LogConnection
  readonly publisher: Publisher
  readonly redis: RedisConnection['client']
  /** A separate connection, since a subscribed one takes no other commands. */
  readonly subscriber: RedisConnection['client']
  /** Token that all services share. */
  readonly internalToken: string
  readonly countryOf: CountryOf
  /** Returns true once the process stops. Default: never. */
  readonly isStopping?: () => boolean
  readonly metrics: GatewayMetrics
  readonly tracing?: Tracing | undefined
  /** Default: no request is sampled. */
  readonly sampler?: SamplerOptions
  readonly logger: Logger
  /** Default `user-events`. */
  readonly topic?: string
  /** Default `erasures`. */
  readonly erasuresTopic?: string
  /** Default `operator-changes`. */
  readonly changesTopic?: string
  /** Default `user-keys`. */
  readonly keysTopic?: string
  /** Prefix of every key in Redis. Default `nextvisit:`. */
  readonly redisPrefix?: string
  /** Default: the rate limiter's. */
  readonly rateLimits?: { readonly patienceMs: number }
}

const MAX_VIEW_AGE_MS = 30_000
/** Maximum number of users whose data keys are in memory. An open key takes about 1 KB. */
const MAX_OPEN_KEYS = 50_000

/** Wires the gateway. Opens nothing. */
export function createGateway(parts: GatewayParts) {
  const { requestBudgetMs, catalog, erasures, metrics, logger, redis, services, redisPrefix = 'nextvisit:' } = parts
  const dependencies = createDependencyLog(logger)
  const watch = { logger, dependencies, onState: metrics.onBreaker }

  const withinMs = { readWithinMs: requestBudgetMs, admissionWithinMs: admissionBudgetMs(requestBudgetMs) }
  const options = {
    ...withinMs,
    token: parts.internalToken,
    onCall: metrics.onServiceCall,
    tracing: parts.tracing,
    ...watch,
  }
  const clientOf = <Name extends keyof typeof services>(name: Name) =>
    createServiceClient(name, CALLS[name], { ...options, addresses: services[name] })
  const clients = {
    userProjector: clientOf('user-projector'),
    traitRegistry: clientOf('trait-registry'),
    metering: clientOf('metering'),
    evaluator: clientOf('form-trigger-evaluator'),
    userEraser: clientOf('user-eraser'),
    answerCollector: clientOf('answer-collector'),
    webhookDispatcher: clientOf('webhook-dispatcher'),
  }
  const traitRegistry = createTraitRegistry(clients.traitRegistry, requestBudgetMs)
  const metering = createMetering(clients.metering, requestBudgetMs)

  const userEvents = createUserEventPublisher({ ...parts, ...watch })
  const replies = createReplyWaiter({ ...parts, ...watch, onReplyAwaited: metrics.onReplyAwaited })
  const keptAnswers = createKeptAnswers(redis, redisPrefix, requestBudgetMs)
  const signingSecrets = createSigningSecrets(parts)
  const checkSignature = createCheckSignature(signingSecrets)
  const sealingKeys = createSealingKeys({
    keyRing: parts.keyRing,
    publish: userEvents.publishKey,
    fences: erasures,
    max: MAX_OPEN_KEYS,
  })
  const knownUsers = createKnownUsers({
    redis,
    keyPrefix: redisPrefix,
    projector: clients.userProjector,
    sealingKeys,
    fences: erasures,
    requestBudgetMs,
  })
  const { onRecorded, onLeftOut } = metrics
  const checkSuppression = createCheckSuppression(erasures)
  const stages = createStages({
    checkSignature,
    checkSuppression,
    keptAnswers,
    knownUsers,
    userEvents,
    replies,
    onRecorded,
  })
  const { formOf, withForm } = createFormDelivery(parts)
  const kindParts = { countryOf: parts.countryOf, formOf, readAnswer: createReadAnswer(catalog) }
  const { identify, visit, track, answer } = createKinds({ knownUsers, metering, traitRegistry }, kindParts)
  const recordMany = createRecordMany(stages, logger)

  const publishErasure = createPublishErasure(parts)
  const requestErasure = createRequestErasure({
    userProjector: clients.userProjector.reads,
    userEvents,
    view: erasures,
    publishErasure,
  })
  const liftSuppression = createLiftSuppression({ view: erasures, publishErasure })
  const userEraser = clients.userEraser.reads
  const readSuppressions = createReadSuppressions({ view: erasures, userEraser, keyRing: parts.keyRing, logger })

  // With a connection of its own: beside user events, a missing topic would delay all of them.
  const changes = createChangeLog(parts.connection, {
    source: 'gateway',
    topic: parts.changesTopic,
    isEndAwaited: false,
    logger,
  })
  const recordChange = createRecordChange(changes)
  const refusalStore = createRefusalStore(redis, redisPrefix)
  const { onRefused, onRefusalsDropped: onDropped } = metrics
  const keptRefusals = createKeptRefusals({ store: refusalStore, onRefused, onDropped, logger })

  const notReadyReasons = () => [
    ...(parts.isStopping?.() ? ['The gateway stops'] : []),
    ...[userEvents.unavailableReason()].flatMap((reason) => reason ?? []),
    ...reasonsOfView('catalog', UNAVAILABLE_REASONS.noCatalog, catalog),
    ...reasonsOfView('erasures', UNAVAILABLE_REASONS.noErasures, erasures),
  ]
  const listener = createApp({
    ...parts,
    routes: [
      createSingleRoute(ROUTES.identifyUser, identify, stages),
      createSingleRoute(ROUTES.trackEvent, track, stages),
      createSingleRoute(ROUTES.giveAnswers, answer, stages),
      createBatchRoute(recordMany, { identify, track }),
      ...createSegmentComRoutes({ recordMany, identify, track, onLeftOut }),
      createVisitRoute({ ...parts, stages, visit, withForm, userEvents }),
      createSingleRoute(ROUTES.trackSdkEvent, track, stages),
      createSingleRoute(ROUTES.giveSdkAnswers, answer, stages),
      ...createUserRoutes(clients.userProjector.reads, clients.evaluator.reads, erasures),
      ...createProjectRoutes({
        metering: clients.metering.reads,
        traitRegistry: clients.traitRegistry.reads,
        userProjector: clients.userProjector.reads,
        erasures,
      }),
      ...createFormRoutes({
        answerCollector: clients.answerCollector.reads,
        userProjector: clients.userProjector.reads,
        erasures,
        catalog,
      }),
      createListRefusals(refusalStore),
      ...createWebhookRoutes({ webhookDispatcher: clients.webhookDispatcher.reads, recordChange }),
      ...createErasureRoutes({
        requestErasure,
        liftSuppression,
        recordChange,
        keptAnswers,
        userEraser,
        view: erasures,
        readSuppressions,
      }),
    ],
    documents: createDocuments(),
    rateLimiter: createSharedRateLimiter({
      ...parts,
      ...parts.rateLimits,
      keyPrefix: redisPrefix,
      nowMs: () => performance.now(),
    }),
    callerAddress: createCallerAddress(parts.trustedProxies),
    onAnswered: metrics.onAnswered,
    sample: parts.tracing && parts.sampler && createTraceSampler(parts.sampler),
    onRefused: keptRefusals.note,
    notReadyReasons,
  })
  return {
    listener,
    /** Calls that other services may make. */
    internalRoutes: serveCalls(gatewayCalls, {
      ...answerRefusals(refusalStore),
      ...answerErasures({ requestErasure, liftSuppression, readSuppressions, view: erasures }),
    }),
    userEvents,
    replies,
    notReadyReasons,
    undecryptableSecrets: signingSecrets.undecryptable,
    /** Waits for the first addresses of services. Resolves after a second at the latest. */
    lookUpServices: () => Promise.all(Object.values(services).map(({ each }) => each())),
    /** Ends timers, gives leased room back and writes the last refusals. Connections belong to their creators. */
    stop: async () => {
      await metering.stop()
      for (const part of [...Object.values(clients), ...Object.values(services), replies, dependencies]) part.stop()
      await Promise.all([keptRefusals.stop(), changes.stop()])
    },
  }
}

/** Erasures are few, and need no breaker: without Kafka, no user has a partition, so none is published. */
function createPublishErasure({ publisher, erasuresTopic = TOPICS.erasures }: GatewayParts): PublishErasure {
  return (fact, { deadlineAt, traceparent }) => {
    const record = encodeRecord(fact, { source: 'gateway', time: timeOf(fact), traceparent })
    return publisher.publish({ topic: erasuresTopic, partition: 0, key: keyOf(fact), ...record }, deadlineAt)
  }
}

function keyOf(fact: ErasureFact): string {
  return fact.type === 'SuppressionLifted' ? fact.userId : fact.id
}

function timeOf(fact: ErasureFact): string {
  return fact.type === 'ErasureCompleted' ? fact.at : fact.received
}

/**
 * Returns the reasons why requests would fail now because of a view; empty if they would succeed. Ingestion continues
 * without Redis and other services, so these give no reason (decisions.md, Busy and broken).
 */
function reasonsOfView(
  name: string,
  neverRead: string,
  { currentAsOfMs }: { readonly currentAsOfMs: () => number },
): readonly string[] {
  const asOfMs = currentAsOfMs()
  if (asOfMs === 0) return [neverRead]
  const ageMs = performance.now() - asOfMs
  return ageMs > MAX_VIEW_AGE_MS ? [`The ${name} was last known to be current ${Math.round(ageMs / 1_000)} s ago`] : []
}
