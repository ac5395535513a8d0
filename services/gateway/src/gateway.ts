import type { RequestListener } from 'node:http'
import type { CatalogView } from '@nextvisit/catalog'
import type { LogConnection, Publisher } from '@nextvisit/log'
import type { RedisConnection } from '@nextvisit/service-kit'
import { createAdmitEvent } from './admission/admit-event.ts'
import { createAdmitIdentify } from './admission/admit-identify.ts'
import { createUserExists } from './admission/user-exists.ts'
import { createApp } from './app.ts'
import type { BreakerWatch } from './breaker.ts'
import { createAwaitReply } from './await-reply.ts'
import type { CountryOf } from './country-of.ts'
import { createCallerAddress } from './http/caller-address.ts'
import { createAnswerOnce } from './idempotency/answer-once.ts'
import { createKeptAnswers } from './idempotency/kept-answers.ts'
import type { GatewayMetrics } from './gateway-metrics.ts'
import { createIngest } from './ingest.ts'
import type { Logger } from './logger.ts'
import { createOwners, type OwnersOptions } from './owners.ts'
import { createRecordLog, type RecordLog } from './record-log.ts'
import { createSharedRateLimiter } from './rate-limit/shared-rate-limiter.ts'
import { whyNotReady } from './why-not-ready.ts'
import { createReplies, type Replies } from './replies.ts'
import type { Route } from './route.ts'
import { createGetUsage } from './routes/get-usage.ts'
import { createGetUser } from './routes/get-user.ts'
import { createGetUserForms } from './routes/get-user-forms.ts'
import { createIdentifyUser } from './routes/identify-user.ts'
import { createListDefinitions } from './routes/list-definitions.ts'
import { createListSegmentUsers } from './routes/list-segment-users.ts'
import { createListSegments } from './routes/list-segments.ts'
import { createTrackEvent } from './routes/track-event.ts'
import { createVisit } from './routes/visit.ts'
import { createUserMarkers } from './user-markers.ts'
import { createCheckSignature } from './user-signature.ts'

export interface GatewayParts {
  /** Names this process among gateways: the channel of its replies. */
  readonly instanceId: string
  readonly catalog: CatalogView
  readonly connection: LogConnection
  readonly publisher: Publisher
  readonly redis: RedisConnection['client']
  /** A connection of its own: one that subscribes takes no other commands. */
  readonly subscriber: RedisConnection['client']
  readonly owners: Omit<OwnersOptions, keyof BreakerWatch | 'onCall'>
  readonly secretKey: string | undefined
  readonly maxInFlight: number
  /** Addresses and ranges of proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  readonly countryOf: CountryOf
  readonly metrics: GatewayMetrics
  readonly logger: Logger
  /** Default `user-events`. */
  readonly topic?: string
  /** Before every key in Redis. Default `nextvisit:`. */
  readonly redisPrefix?: string
}

export interface Gateway {
  readonly listener: RequestListener
  /** The route table, for OpenAPI. */
  readonly routes: readonly Route[]
  readonly log: RecordLog
  readonly replies: Replies
  readonly whyNotReady: () => readonly string[]
  /** Ends timers; connections belong to who made them. */
  readonly stop: () => void
}

/** Wires the gateway together; opens nothing. */
export function createGateway(parts: GatewayParts): Gateway {
  const { catalog, metrics, logger } = parts
  const watch = { logger, onState: metrics.onBreaker }
  const log = createRecordLog({ ...parts, ...watch })
  const owners = createOwners({ ...parts.owners, onCall: metrics.onOwnerCall, ...watch })
  const replies = createReplies(parts.subscriber, parts.instanceId, logger)
  const { awaitReply, stop: stopAwaiting } = createAwaitReply(replies, watch, metrics.onReplyAwaited)
  const redisPrefix = parts.redisPrefix ?? 'nextvisit:'
  const markers = createUserMarkers(parts.redis, redisPrefix)
  const answerOnce = createAnswerOnce(createKeptAnswers(parts.redis, redisPrefix))
  const rateLimiter = createSharedRateLimiter({
    ...parts,
    keyPrefix: redisPrefix,
    nowMs: () => performance.now(),
  })
  const ingest = createIngest(log, metrics.onRecorded)
  const admitIdentify = createAdmitIdentify({ ...owners, markers })
  const admitEvent = createAdmitEvent({ ...owners, userExists: createUserExists(markers, owners.lookUpUser) })
  const checkSignature = createCheckSignature(parts.secretKey)
  const trackParts = { admitEvent, ingest, awaitReply, answerOnce }
  const routes: readonly Route[] = [
    createIdentifyUser(admitIdentify, ingest, answerOnce),
    createTrackEvent('admin', trackParts),
    createVisit({
      admitIdentify,
      ingest,
      awaitReply,
      answerOnce,
      checkSignature,
      countryOf: parts.countryOf,
      log,
      logger,
    }),
    createTrackEvent('sdk', trackParts),
    ...createGetUser(owners),
    createGetUserForms(owners),
    createGetUsage(owners),
    createListDefinitions('trait', owners),
    createListDefinitions('event', owners),
    createListSegments(owners),
    createListSegmentUsers(owners),
  ]
  const reasons = () => whyNotReady(log, catalog, Date.now())
  return {
    listener: createApp({
      routes,
      catalog,
      rateLimiter,
      maxInFlight: parts.maxInFlight,
      callerAddress: createCallerAddress(parts.trustedProxies),
      onAnswered: metrics.onAnswered,
      whyNotReady: reasons,
      logger,
    }),
    routes,
    log,
    replies,
    whyNotReady: reasons,
    stop: () => {
      owners.stop()
      stopAwaiting()
    },
  }
}
