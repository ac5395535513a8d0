import { HEADERS } from '@nextvisit/contracts'
import { until } from '@nextvisit/testing'
import { Redis } from 'ioredis'
import { inject } from 'vitest'
import type { Reply } from './call-over.ts'
import type { GatewayFixture } from './gateway-fixture.ts'
import type { Recorded } from './read-records.ts'

/** Acts as the evaluator of a gateway: replies to records that a caller waits for. */
export function replyAsEvaluator(gateway: GatewayFixture) {
  const redis = new Redis(inject('redisUrl'))

  /** Waits for an unanswered record that asks for a reply, and replies. */
  async function replyToNext(answered: ReadonlySet<string>, reply: (recordId: string) => object): Promise<void> {
    let found: Recorded | undefined
    await until(async () => {
      const records = await gateway.records()
      found = records.find(({ fact, headers }) => HEADERS.replyTo in headers && !answered.has(fact.id))
      return found !== undefined
    })
    if (!found) throw new Error('no record asks for a reply')
    await redis.publish(found.headers[HEADERS.replyTo] ?? '', JSON.stringify(reply(found.fact.id)))
  }

  return {
    redis,
    /** Sends a request, and replies to the record that it becomes. */
    whileReplying: async (request: () => Promise<Reply>, reply: (recordId: string) => object): Promise<Reply> => {
      const answered = new Set((await gateway.records()).map(({ fact }) => fact.id))
      const replied = replyToNext(answered, reply)
      const answer = await request()
      await replied
      return answer
    },
    stop: () => redis.disconnect(),
  }
}
