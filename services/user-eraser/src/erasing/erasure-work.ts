import { createRounds, type WorkParts } from '@nextvisit/consumer'
import { USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { createRedis, createRefusalStore, type ServicePart } from '@nextvisit/service-kit'
import type { WorkConfig } from '../config.ts'
import { createConsumerStores } from './consumer-stores.ts'
import { createErasureMetrics, type ErasureStep } from './erasure-metrics.ts'
import { createKeyRotation } from './key-rotation.ts'
import { readKeySettings } from './key-settings.ts'
import { createKeySweep } from './key-sweep.ts'
import { createReceipts } from './receipts.ts'
import { createRedisStore } from './redis-store.ts'
import { settleInstallationKeys } from './settle-installation-keys.ts'
import { hasRunningErasures, noteFacts } from './running-erasures.ts'

/** `erasures` has one partition. Its owner does the work. */
const PARTITION = 0

interface ErasureWorkOptions {
  /** Prefix of keys in Redis. Default: `nextvisit:`. */
  readonly redisPrefix?: string
  /** The topic of keys. Default: `user-keys`. */
  readonly keysTopic?: string
  /** Default: 1,000. */
  readonly everyMs?: number
}

/**
 * Creates the eraser's work beside its fold, in rounds: asks each consumer whether it has erased the users, deletes copies in
 * Redis, destroys keys, publishes receipts, and encrypts keys again after a rotation of NEXTVISIT_SECRET_KEY. Each step reads its
 * state from Postgres and the log, and repeating it does no harm. The work therefore resumes after any failure, and a second owner
 * that has not noticed its loss does no damage. While no erasure runs, a round is one query. Organizations take turns: see `createTurns`.
 */
export function createErasureWork(
  {
    redisUrl,
    keyRing,
    internalServer,
    services,
  }: Pick<WorkConfig, 'redisUrl' | 'keyRing' | 'internalServer' | 'services'>,
  parts: Omit<WorkParts, 'catalog'>,
  { redisPrefix, keysTopic, everyMs = 1_000 }: ErasureWorkOptions = {},
): readonly ServicePart[] {
  const { db, logger, now, owns, drainSoon } = parts
  const redis = createRedis({ url: redisUrl, name: 'nextvisit-user-eraser', logger, commandTimeoutMs: REDIS_WITHIN_MS })
  const refusals = createRefusalStore(redis.client, redisPrefix)
  const consumers = createConsumerStores({ db, services, token: internalServer.token, now })
  const inRedis = createRedisStore({ db, redis: redis.client, refusals, redisPrefix, now })
  const sweep = createKeySweep({ ...parts, topic: keysTopic })
  const rotation = createKeyRotation({ ...parts, keyRing, topic: keysTopic })
  const receipts = createReceipts({ db, keyRing, now, eraseAgain: inRedis.eraseUsers, drainSoon })
  const { countFailure } = createErasureMetrics({
    ...parts,
    readKeySettings: readKeySettings(parts.logAdmin, keysTopic ?? USER_KEYS_TOPIC),
  })
  const reported = new Map<ErasureStep, number>()
  /** Since this process owns the work. */
  let areKeysSettled = false
  /** Of the last round. Until the first one, some may be. */
  let areSomeRunning = true
  const ending = new AbortController()

  /**
   * A step that fails must not prevent the others. It is logged once a minute. Returns true if the step has succeeded, and has more
   * to do at once.
   */
  async function attempt(step: ErasureStep, work: () => Promise<boolean | void>): Promise<boolean> {
    try {
      const hasMore = await work()
      reported.delete(step)
      return hasMore === true
    } catch (err) {
      countFailure(step)
      const beforeMs = reported.get(step) ?? Number.NEGATIVE_INFINITY
      if (performance.now() - beforeMs < LOG_AGAIN_AFTER_MS) return false
      reported.set(step, performance.now())
      logger.warn({ err, step }, 'A step of the erasures failed; trying again')
      return false
    }
  }

  /** Repeats at once while a step has more erasures than a page, and finishes some. No step waits for all pages of another. */
  async function runRounds(): Promise<void> {
    while ((await runRound()) && !ending.signal.aborted);
  }

  /** Serves a page of erasures in each step. Returns true if a step has more to do at once. */
  async function runRound(): Promise<boolean> {
    if (!owns(PARTITION)) {
      areKeysSettled = false
      return false
    }
    if (!areKeysSettled) await attempt('installation keys', settleKeys)
    await attempt('running erasures', async () => {
      areSomeRunning = await hasRunningErasures(db)
    })
    if (!areSomeRunning) return false
    await attempt('user-events', () => noteFacts(db, now()))
    const haveMore = await Promise.all([attempt('consumers', consumers.ask), attempt('redis', inRedis.erase)])
    return (await attempt('receipts', receipts.publish)) || haveMore.some(Boolean)
  }

  async function settleKeys(): Promise<void> {
    await settleInstallationKeys(db, keyRing)
    areKeysSettled = true
  }

  const rounds = createRounds(runRounds, everyMs)
  const sweeps = createRounds(async () => {
    if (owns(PARTITION)) await attempt('user-keys', () => sweep.run({ areSomeRunning }))
    // Never at the same time as the sweep.
    if (owns(PARTITION)) await attempt('rotation', rotation.run)
  }, everyMs)

  return [
    { name: 'redis', start: redis.start, stop: redis.stop },
    {
      name: 'erasures',
      start: async () => {
        rounds.start()
        sweeps.start()
      },
      stop: async () => {
        ending.abort()
        rounds.stop()
        sweeps.stop()
        sweep.stop()
        rotation.stop()
        await Promise.all([rounds.finished(), sweeps.finished()])
      },
    },
  ]
}

/** No caller waits, so a slow Redis is given more time than by a gateway. */
const REDIS_WITHIN_MS = 2_000
const LOG_AGAIN_AFTER_MS = 60_000
