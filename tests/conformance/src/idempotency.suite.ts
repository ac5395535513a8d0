import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { eventually, keyNamed, readTopic } from '@nextvisit/testing/black-box'
import { product } from './product.ts'

const ADMIN_KEY = keyNamed('REPEATED_ADMIN_P')
const SDK_KEY = keyNamed('REPEATED_SDK_P')

interface Answer {
  readonly status: number
  readonly text: string
  readonly body: Record<string, unknown>
  readonly requestId: string | null
  readonly isReplayed: boolean
}

async function post(path: string, idempotencyKey: string, body: object): Promise<Answer> {
  const key = path.startsWith('/v2/sdk/') ? SDK_KEY : ADMIN_KEY
  const response = await fetch(`${product().gatewayUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key, 'idempotency-key': idempotencyKey },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return {
    status: response.status,
    text,
    body: JSON.parse(text) as Record<string, unknown>,
    requestId: response.headers.get('x-request-id'),
    isReplayed: response.headers.get('idempotent-replayed') === 'true',
  }
}

const identify = (key: string, body: object) => post('/v2/admin/identify-user', key, body)
const track = (key: string, body: object) => post('/v2/admin/track-event', key, body)
const visit = (key: string, body: object) => post('/v2/sdk/identify-user', key, body)

async function get(path: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${product().gatewayUrl}${path}`, { headers: { 'x-api-key': ADMIN_KEY } })
  return (await response.json()) as Record<string, unknown>
}

/** Reads the user's read model once everything answered before is folded, as shown by a last event. */
async function readUser(userName: string): Promise<Record<string, unknown>> {
  const witness = `witness-${crypto.randomUUID()}`
  expect((await trackUntilAnswered(witness, { userName, eventName: witness }))?.status).toBe(202)
  const slug = witness.replace(/[^a-z0-9]+/g, '_')
  return eventually(
    () => get(`/v2/admin/users/${userName}`),
    (user) => Object.hasOwn((user['events'] ?? {}) as object, slug),
    30_000,
  )
}

/** Reads metering's count. */
async function countedEvents(): Promise<number> {
  const { events } = await get('/v2/admin/usage')
  return (events as { count: number }).count
}

/** Retries a request until it is answered. */
function trackUntilAnswered(key: string, body: object): Promise<Answer | undefined> {
  return eventually(
    () => track(key, body).catch(() => undefined),
    (answer) => answer?.status === 202,
    60_000,
  )
}

async function copiesOf({ requestId }: Answer): Promise<number> {
  return (await readTopic(product().brokers, 'user-events')).filter(({ value }) => value['id'] === requestId).length
}

async function emptyRedis(): Promise<void> {
  const redis = new Redis(product().redisUrl)
  await redis.flushall()
  redis.disconnect()
}

const checkout = { userName: 'ada', eventName: 'Checkout Completed' }

/** Tests decisions.md, Retries. It empties Redis and kills the gateway. */
export function describeIdempotency(): void {
  describe('Idempotency-Key, from request to read model (decisions.md, Retries)', () => {
    it('counts a repeated request once, and answers it identically', async () => {
      const body = { userName: 'ada', userAttributes: { $set: { plan: 'pro' }, $increment: { visits: 1 } } }
      const pairs = [
        [await identify('i-1', body), await identify('i-1', body)],
        [await track('t-1', checkout), await track('t-1', checkout)],
        [await visit('v-1', { userName: 'ada' }), await visit('v-1', { userName: 'ada' })],
      ] as const
      for (const [first, repeat] of pairs) {
        expect(repeat).toEqual({ ...first, isReplayed: true })
        expect(first.isReplayed).toBe(false)
      }
      expect(pairs[1][0].body).toMatchObject({ newEvent: true, formsQueued: 1, requestId: pairs[1][0].requestId })
      expect(pairs[2][0].body).toMatchObject({ nextFeedbackId: 'nps-after-checkout' })
      expect(await readUser('ada')).toMatchObject({
        traits: { plan: 'pro', visits: 1 },
        events: { checkout_completed: { count: 1 } },
        waitingForms: [],
      })
    })

    it('does not count a duplicate in the log, and answers it like the first record', async () => {
      // Includes a checkout and the last event of the previous test.
      const before = await eventually(countedEvents, (count) => count >= 2, 30_000)
      expect(before).toBe(2)
      const body = { userName: 'bea', userAttributes: { $set: { plan: 'pro' }, $increment: { visits: 1 } } }
      const event = { userName: 'bea', eventName: 'Checkout Completed', occurredAt: new Date().toISOString() }
      const round = async () => [
        await identify('i-2', body),
        await track('t-2', event),
        await visit('v-2', { userName: 'bea' }),
      ]
      const first = await round()
      expect(first.map(({ status }) => status)).toEqual([200, 202, 200])
      expect(first[1]?.body).toMatchObject({ formsQueued: 1 })
      expect(first[2]?.body).toMatchObject({ nextFeedbackId: 'nps-after-checkout' })
      // This form waits for the next visit, so a duplicate of the first visit must not take it.
      expect((await track('t-3', event)).body).toMatchObject({ formsQueued: 1 })

      await emptyRedis()
      const second = await round()
      expect(second).toEqual(first)
      expect(await Promise.all(first.map(copiesOf))).toEqual([2, 2, 2])
      expect(await readUser('bea')).toMatchObject({
        traits: { visits: 1 },
        events: { checkout_completed: { count: 2 } },
        waitingForms: [{ formId: 'nps-after-checkout', state: 'waiting' }],
      })
      // Two checkouts and the last event.
      expect(await eventually(countedEvents, (count) => count >= before + 3, 30_000)).toBe(before + 3)
    })

    it('answers 422 to another request with the same key, and 409 or the same answer to parallel ones', async () => {
      const answers = await Promise.all(Array.from({ length: 30 }, () => track('t-4', checkout)))
      const statuses = new Set(answers.map(({ status }) => status))
      expect([...statuses].filter((status) => status !== 202 && status !== 409)).toEqual([])
      expect(new Set(answers.flatMap(({ status, text }) => (status === 202 ? text : []))).size).toBe(1)
      expect(await track('t-4', { ...checkout, eventName: 'Signed In' })).toMatchObject({ status: 422 })
      expect(await identify('t-4', { userName: 'ada' })).toMatchObject({ status: 422 })
      // A publishable key has a namespace of its own.
      expect(await post('/v2/sdk/track-event', 't-4', checkout)).toMatchObject({ status: 202, isReplayed: false })
      expect(await copiesOf(answers[0] as Answer)).toBe(1)
    })

    it('counts each request once if the caller retries while the gateway is killed', async () => {
      const keys = Array.from({ length: 200 }, (_, i) => `killed-${i}`)
      await identify('i-5', { userName: 'cleo' })
      const sending = keys.map((key) => trackUntilAnswered(key, { userName: 'cleo', eventName: 'Export Done' }))
      await eventually(
        () => readTopic(product().brokers, 'user-events'),
        (records) => records.some(({ value }) => value['slug'] === 'export_done'),
        30_000,
      )
      product().kill('gateway', 'SIGKILL')
      const answers = await Promise.all(sending)
      expect(answers.map((answer) => answer?.status)).toEqual(keys.map(() => 202))
      expect(await readUser('cleo')).toMatchObject({ events: { export_done: { count: keys.length } } })
    }, 120_000)
  })
}
