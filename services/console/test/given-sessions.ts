import { randomUUID } from 'node:crypto'
import { createLogger, createRedis } from '@nextvisit/service-kit'
import { inject, onTestFinished } from 'vitest'
import { createSessions } from '../src/http/sessions.ts'

/** Connects a console to Redis. Those with the same `keyPrefix` share their sessions. */
export async function givenSessions({
  url = inject('redisUrl'),
  keyPrefix = `${randomUUID()}:`,
  nowMs = () => Date.now(),
  tokens = {} as { readonly operator?: string; readonly viewer?: string },
  logger = createLogger('console', 'silent'),
} = {}) {
  const redis = createRedis({ url, name: 'console', logger, commandTimeoutMs: 10_000 })
  await redis.start()
  onTestFinished(redis.stop)
  return {
    sessions: createSessions({ redis: redis.client, nowMs, tokens, logger, keyPrefix }),
    redis: redis.client,
    keyPrefix,
  }
}
