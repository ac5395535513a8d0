import { randomUUID } from 'node:crypto'
import { createLogger, createRedis } from '@nextvisit/service-kit'
import { until } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createKeptAnswers, type IdempotencyLock, type KeptAnswers } from './kept-answers.ts'

const REQUEST_BUDGET_MS = 2_000

const logger = createLogger('test', 'silent')
// A long timeout, since a busy machine is not a slow Redis.
const redis = createRedis({ url: inject('redisUrl'), name: 'test', logger, commandTimeoutMs: 10_000 })
const prefix = `test:${randomUUID()}:`
const keptAnswers = createKeptAnswers(redis.client, prefix, REQUEST_BUDGET_MS)
beforeAll(redis.start)
afterAll(redis.stop)

const ANSWER = { status: 202, body: { requestId: 'a', formsQueued: 1 } }
const newRequest = () => ({ recordId: randomUUID(), name: `acme/shop/${randomUUID()}` })
type Request = ReturnType<typeof newRequest>

async function lock(request: Request, by: KeptAnswers = keptAnswers): Promise<IdempotencyLock> {
  const begun = await by.lock(request)
  if (begun.outcome !== 'locked') throw new Error(`expected a lock, found ${begun.outcome}`)
  return begun
}

/** Ends the time that a dead gateway would have run. */
async function runOut({ name }: Request): Promise<void> {
  await redis.client.hset(`${prefix}answer:${name}`, 'runs_until', 0)
}

describe('the store of kept answers (decisions.md, Retries)', () => {
  it('locks one of many parallel requests', async () => {
    const request = newRequest()
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, async () => (await keptAnswers.lock(request)).outcome),
    )
    expect(outcomes.filter((outcome) => outcome === 'locked')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'running')).toHaveLength(19)
  })

  it('gives repeats the answer, for 24 h', async () => {
    const request = newRequest()
    await (await lock(request)).keep(ANSWER)
    expect(await keptAnswers.lock(request)).toEqual({ outcome: 'answered', answer: ANSWER })
    const leftMs = await redis.client.pttl(`${prefix}answer:${request.name}`)
    expect(leftMs).toBeGreaterThan(24 * 3_600_000 - 60_000)
    expect(leftMs).toBeLessThanOrEqual(24 * 3_600_000)
  })

  it('keeps the confirmed fact and the form with the answer', async () => {
    const request = newRequest()
    const [id, queuedId, visitId] = [randomUUID(), randomUUID(), request.recordId]
    const user = { organization: 'acme', project: 'shop', userId: randomUUID() }
    const received = new Date().toISOString()
    const form = { offerId: queuedId, formId: 'nps', revision: 3, language: 'de' }
    const shown = { environment: 'P', visitId, queuedId, formId: 'nps', revision: 3, language: 'de' } as const
    const confirms = { type: 'VisitAnswered', id, ...user, received, ...shown } as const
    await (await lock(request)).keep({ ...ANSWER, confirms, form })
    expect(await keptAnswers.lock(request)).toEqual({ outcome: 'answered', answer: { ...ANSWER, confirms, form } })
  })

  it('gives the key to no other request while the first runs, after its release and after its answer', async () => {
    const request = newRequest()
    const other = { ...request, recordId: randomUUID() }
    const first = await lock(request)
    expect(await keptAnswers.lock(other)).toEqual({ outcome: 'taken' })
    await first.release()
    expect(await keptAnswers.lock(other)).toEqual({ outcome: 'taken' })
    await (await lock(request)).keep(ANSWER)
    expect(await keptAnswers.lock(other)).toEqual({ outcome: 'taken' })
  })

  it('frees the key for any request once it is abandoned', async () => {
    const request = newRequest()
    await (await lock(request)).abandon()
    expect(await lock({ ...request, recordId: randomUUID() })).toMatchObject({ isRetry: false })
  })

  it('locks the same request again at once after its release, as a retry', async () => {
    const request = newRequest()
    const first = await lock(request)
    expect(first.isRetry).toBe(false)
    await first.release()
    expect(await lock(request)).toMatchObject({ isRetry: true })
  })

  it('locks the same request again if its gateway disappeared, and not before it must have ended', async () => {
    const request = newRequest()
    await lock(request)
    const beganAt = performance.now()
    let again = await keptAnswers.lock(request)
    await until(async () => (again = await keptAnswers.lock(request)).outcome !== 'running')
    expect(again).toMatchObject({ outcome: 'locked', isRetry: true })
    expect(performance.now() - beganAt).toBeGreaterThan(2_500)
  })

  it('ignores a gateway that stalled while another one got the lock', async () => {
    const request = newRequest()
    const late = await lock(request)
    await runOut(request)
    const holder = await lock(request)
    await late.keep({ status: 202, body: { requestId: 'late' } })
    expect(await keptAnswers.lock(request)).toEqual({ outcome: 'running' })
    await late.abandon()
    await late.release()
    expect(await keptAnswers.lock(request)).toEqual({ outcome: 'running' })
    await holder.keep(ANSWER)
    expect(await keptAnswers.lock(request)).toEqual({ outcome: 'answered', answer: ANSWER })
  })

  it('shares no key between names', async () => {
    const request = newRequest()
    await (await lock(request)).keep(ANSWER)
    expect(await lock({ ...request, name: `acme/blog/${randomUUID()}` })).toMatchObject({ isRetry: false })
  })

  it('repeats a script that timed out, and the request is still the first', async () => {
    const request = newRequest()
    let lost = 0
    const deaf = createKeptAnswers(
      {
        eval: async (script: string, count: number, ...given: (string | number)[]) => {
          const reply = await redis.client.eval(script, count, ...given)
          if ((lost += 1) % 2 === 1) throw new Error('Command timed out')
          return reply
        },
      },
      prefix,
      REQUEST_BUDGET_MS,
    )
    const first = await lock(request, deaf)
    expect(first.isRetry).toBe(false)
    await first.release()
    const again = await lock(request, deaf)
    expect(again.isRetry).toBe(true)
    await again.keep(ANSWER)
    expect(await keptAnswers.lock(request)).toEqual({ outcome: 'answered', answer: ANSWER })
  })

  it('locks every request while Redis is unavailable, and never rejects', async () => {
    const away = createRedis({ url: 'redis://127.0.0.1:1', name: 'test', logger })
    await away.start()
    const without = createKeptAnswers(away.client, prefix, REQUEST_BUDGET_MS)
    const request = newRequest()
    const locks = [await lock(request, without), await lock(request, without)]
    for (const { keep, abandon, release } of locks) await Promise.all([keep(ANSWER), abandon(), release()])
    expect(locks.map(({ isRetry }) => isRetry)).toEqual([false, false])
    await away.stop()
  })

  it('treats an unreadable answer as missing', async () => {
    const request = newRequest()
    await redis.client.set(`${prefix}answer:${request.name}`, 'not a hash', 'PX', 60_000)
    expect(await lock(request)).toMatchObject({ isRetry: false })
  })
})
