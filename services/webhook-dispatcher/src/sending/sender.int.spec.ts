import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '@nextvisit/database'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { ADDED_AT, newSecret } from '../../test/given-catalog.ts'
import { givenSenders } from '../../test/given-sender.ts'
import { type Received, startReceiver } from '../../test/start-receiver.ts'
import { createConnector } from './connector.ts'
import { LOOPBACK } from './networks.ts'

const given = givenSenders()
const PATIENT = { timeout: 20_000 }
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

function idOf({ headers }: Received): string {
  return String(headers['webhook-id'])
}

function userOf({ body }: Received): string {
  return (JSON.parse(body) as { data: { userId: string } }).data.userId
}

const statuses = async () => (await given.readDeliveries()).map(({ status }) => status)
const becomeAll = (status: string, count: number) =>
  expect.poll(statuses, PATIENT).toEqual(Array.from({ length: count }, () => status))

describe('a delivery', { timeout: 60_000 }, () => {
  it('is sent once, signed, and ends with its attempt', async () => {
    const secret = newSecret()
    const { url, received } = await startReceiver({ answer: (_, response) => response.end('thanks') })
    given.setWebhooks({ id: 'crm', url, secret })
    const webhookId = randomUUID()
    const [deliveryId] = await given.givenDeliveries([{ webhookId, data: { formId: 'nps' } }])
    await given.startSender()
    await becomeAll('delivered', 1)

    expect(received).toHaveLength(1)
    const [{ headers, body } = { headers: {}, body: '' }] = received
    expect(headers).toMatchObject({ 'webhook-id': webhookId, 'content-type': 'application/json' })
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({ type: 'form.queued' })
    expect(await given.readDeliveries()).toMatchObject([{ deliveryId, body, attempts: 1, endedAt: expect.any(String) }])
    expect(await given.readAttempts()).toMatchObject([
      { deliveryId, number: 1, outcome: 'delivered', httpStatus: 200, response: 'thanks', error: null },
    ])
    expect(await given.readTurns()).toEqual([])
    expect(await given.readHealth()).toMatchObject({
      failingSince: null,
      disabledAt: null,
      deliveredAt: expect.any(Date),
    })
  })

  it('is signed with both secrets during a rotation, with those of the moment', async () => {
    const [old, next] = [newSecret(), newSecret()]
    const { url, received } = await startReceiver()
    given.setWebhooks({ id: 'crm', url, secret: old })
    await given.givenDeliveries([{}])
    await given.startSender()
    await becomeAll('delivered', 1)
    const until = new Date(Date.now() + DAY_MS).toISOString()
    given.setWebhooks({ id: 'crm', url, secret: next, previousSecret: { secret: old, until } })
    await given.givenDeliveries([{}])
    await becomeAll('delivered', 2)
    const verify = (secret: string, at: number) => () =>
      new Webhook(secret).verify(received[at]?.body ?? '', received[at]?.headers as Record<string, string>)
    expect(verify(old, 0)).not.toThrow()
    expect(verify(next, 0)).toThrow('No matching signature')
    expect(verify(old, 1)).not.toThrow()
    expect(verify(next, 1)).not.toThrow()
  })

  it('is retried as the schedule says, and fails after the last attempt', async () => {
    const { url, received, answerWith } = await startReceiver({
      answer: (_, response) => response.writeHead(500).end('no'),
    })
    given.setWebhooks({ id: 'crm', url })
    const [first] = await given.givenDeliveries([{ userId: '11111111-1111-4111-8111-111111111111' }])
    await given.startSender()
    await becomeAll('failed', 1)
    expect(received).toHaveLength(3)
    const attempts = await given.readAttempts()
    expect(attempts.map(({ deliveryId, number, outcome }) => [deliveryId, number, outcome])).toEqual(
      [1, 2, 3].map((number) => [first, number, 'refused']),
    )
    const [one, two, three] = attempts.map(({ at }) => Date.parse(at))
    expect((two ?? 0) - (one ?? 0)).toBeGreaterThanOrEqual(20)
    expect((three ?? 0) - (two ?? 0)).toBeGreaterThanOrEqual(40)
    expect(await given.readTurns()).toEqual([])

    // The next one of the user goes on.
    answerWith((_, response) => response.end())
    await given.givenDeliveries([{ userId: '11111111-1111-4111-8111-111111111111' }])
    await expect.poll(statuses, PATIENT).toEqual(['failed', 'delivered'])
  })

  it('waits as long as the endpoint asks for', async () => {
    const { url, received } = await startReceiver({
      answer: (_, response) => response.writeHead(429, { 'retry-after': '3600' }).end(),
    })
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{}])
    await given.startSender()
    await expect.poll(given.readAttempts, PATIENT).toHaveLength(1)
    const [turn] = await given.readTurns()
    const waitMs = Date.parse(turn?.nextAt ?? '') - Date.now()
    expect(waitMs).toBeGreaterThan(0.9 * HOUR_MS)
    expect(waitMs).toBeLessThanOrEqual(HOUR_MS)
    expect(received).toHaveLength(1)
  })

  it('keeps why there was no response', async () => {
    const { url } = await startReceiver({ answer: () => {} })
    given.setWebhooks(
      { id: 'slow', url },
      { id: 'closed', url: 'http://127.0.0.1:1/' },
      { id: 'inner', url: 'https://10.0.0.1/' },
    )
    await given.givenDeliveries(['slow', 'closed', 'inner'].map((endpointId) => ({ endpointId })))
    await given.startSender({ retryDelaysMs: [], attemptWithinMs: 200 })
    await becomeAll('failed', 3)
    const errors = (await given.readAttempts()).map(({ outcome, error }) => `${outcome}: ${error}`)
    expect(new Set(errors)).toEqual(
      new Set([
        'blocked: The address is not allowed: private',
        'timeout: No response came in time',
        'unreachable: The connection was refused (ECONNREFUSED)',
      ]),
    )
  })
})

describe('the order of deliveries', { timeout: 60_000 }, () => {
  it('is that of the log for each user, although attempts fail, and one user does not wait for another', async () => {
    const failures = new Map<string, number>()
    const { url, received } = await startReceiver({
      answer: (one, response, socket) => {
        const count = (failures.get(idOf(one)) ?? 0) + 1
        failures.set(idOf(one), count)
        // About a third of first attempts fail, in several ways.
        const kind = idOf(one).charCodeAt(0) % 6
        if (count > 1 || kind > 2) response.end()
        else if (kind === 0) response.writeHead(500).end()
        else if (kind === 1) socket.resetAndDestroy()
        else response.writeHead(429).end()
      },
    })
    given.setWebhooks({ id: 'crm', url })
    const users = Array.from({ length: 20 }, () => randomUUID())
    const ids = users.flatMap((userId) => Array.from({ length: 10 }, () => ({ userId, webhookId: randomUUID() })))
    await given.givenDeliveries(ids)
    await given.startSender()
    await becomeAll('delivered', 200)
    for (const user of users) {
      const own = received.filter((one) => userOf(one) === user).map(idOf)
      // Each id until it has succeeded, then the next.
      const sequence = own.filter((id, at) => id !== own[at - 1])
      expect(sequence).toEqual(ids.filter(({ userId }) => userId === user).map(({ webhookId }) => webhookId))
    }
  })

  it('is that of the record, not that of the rows', async () => {
    const { url, received } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    const userId = randomUUID()
    const [early, late] = [randomUUID(), randomUUID()]
    await given.givenDeliveries([
      { userId, offset: 90, webhookId: late },
      { userId, offset: 80, webhookId: early },
    ])
    await given.startSender()
    await becomeAll('delivered', 2)
    expect(received.map(idOf)).toEqual([early, late])
  })

  it('lets each user have a turn, although more users than are read at once have many deliveries', async () => {
    const { url, received } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    const users = Array.from({ length: 140 }, () => randomUUID())
    await given.givenDeliveries(users.flatMap((userId) => Array.from({ length: 5 }, () => ({ userId }))))
    const userId = randomUUID()
    await given.givenDeliveries([{ userId }])
    await given.startSender()
    const at = () => received.findIndex((one) => userOf(one) === userId)
    await expect.poll(at, { timeout: 50_000 }).toBeGreaterThan(-1)
    expect(at()).toBeLessThan(400)
  })

  it('is of each stream: a replay does not wait for the live stream', async () => {
    const { url, received } = await startReceiver({
      answer: (one, response) => response.writeHead(idOf(one).startsWith('a') ? 500 : 200).end(),
    })
    given.setWebhooks({ id: 'crm', url })
    const userId = randomUUID()
    const failing = `a${randomUUID().slice(1)}`
    const replayed = `b${randomUUID().slice(1)}`
    await given.givenDeliveries([
      { userId, webhookId: failing },
      { userId, webhookId: replayed, replayId: randomUUID(), offset: 1 },
    ])
    await given.startSender({ retryDelaysMs: [DAY_MS] })
    await expect.poll(statuses, PATIENT).toEqual(expect.arrayContaining(['delivered', 'pending']))
    expect(new Set(received.map(idOf))).toEqual(new Set([failing, replayed]))
  })
})

describe('a replay', { timeout: 60_000 }, () => {
  it('has half of the requests of an endpoint, and delays no live delivery', async () => {
    const [open, most] = [new Map<string, number>(), new Map<string, number>()]
    const replayId = randomUUID()
    const { url, received } = await startReceiver({
      answer: (one, response) => {
        const kind = one.body.includes('replayed') ? 'replayed' : 'live'
        open.set(kind, (open.get(kind) ?? 0) + 1)
        most.set(kind, Math.max(most.get(kind) ?? 0, open.get(kind) ?? 0))
        setTimeout(() => {
          open.set(kind, (open.get(kind) ?? 0) - 1)
          response.end()
        }, 20)
      },
    })
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries(Array.from({ length: 1_000 }, () => ({ replayId, data: { formId: 'replayed' } })))
    await given.startSender()
    await expect.poll(() => received.length, PATIENT).toBeGreaterThan(50)
    await given.givenDeliveries(Array.from({ length: 100 }, () => ({})))
    const live = () => received.filter(({ body }) => !body.includes('replayed')).length
    await expect.poll(live, PATIENT).toBe(100)
    expect(received.length).toBeLessThan(1_000)
    expect(most.get('replayed')).toBe(16)
  })
})

describe('endpoints', { timeout: 60_000 }, () => {
  it('have 32 requests in flight at most, and a hanging one delays no other', async () => {
    let [open, most] = [0, 0]
    const hanging = await startReceiver({
      answer: (_, __, socket) => {
        open += 1
        most = Math.max(most, open)
        socket.once('close', () => (open -= 1))
      },
    })
    const healthy = await startReceiver()
    given.setWebhooks({ id: 'hanging', url: hanging.url }, { id: 'healthy', url: healthy.url })
    await given.givenDeliveries(Array.from({ length: 500 }, () => ({ endpointId: 'hanging' })))
    const sender = await given.startSender({ attemptWithinMs: 30_000 })
    await expect.poll(() => open, PATIENT).toBe(32)
    await given.givenDeliveries(Array.from({ length: 300 }, () => ({ endpointId: 'healthy' })))
    await expect.poll(() => healthy.received.length, PATIENT).toBe(300)
    expect([open, most]).toEqual([32, 32])
    expect(sender.inFlight()).toBeGreaterThanOrEqual(32)
    await sender.stop()
  })

  it('have four once they have failed for a minute, and all again with the first success', async () => {
    let open = 0
    const { url, answerWith } = await startReceiver({ answer: () => (open += 1) })
    given.setWebhooks({ id: 'crm', url })
    await given.db().$executeRaw(sql`
      INSERT INTO endpoints (organization, project, endpoint_id, added_at, failing_since, failed_at)
      VALUES ('acme', 'shop', 'crm', ${ADDED_AT}::timestamptz, now() - interval '61 seconds', now())`)
    await given.givenDeliveries(Array.from({ length: 100 }, () => ({})))
    await given.startSender({ attemptWithinMs: 1_000 })
    await expect.poll(() => open, PATIENT).toBe(4)
    await sleep(300)
    expect(open).toBe(4)
    answerWith((_, response) => response.end())
    await expect
      .poll(async () => (await statuses()).filter((one) => one === 'delivered').length, PATIENT)
      .toBeGreaterThan(90)
    answerWith(() => (open += 1))
    open = 0
    await given.givenDeliveries(Array.from({ length: 100 }, () => ({})))
    await expect.poll(() => open, PATIENT).toBe(32)
  })

  it('have few large bodies in flight, and small ones do not wait for the large ones of another', async () => {
    let open = 0
    const hanging = await startReceiver({ answer: () => (open += 1) })
    const healthy = await startReceiver()
    given.setWebhooks({ id: 'hanging', url: hanging.url }, { id: 'healthy', url: healthy.url })
    const data = { traits: { notes: 'x'.repeat(400_000) } }
    await given.givenDeliveries(Array.from({ length: 60 }, () => ({ endpointId: 'hanging', data })))
    await given.startSender({ attemptWithinMs: 30_000 })
    // 4 MiB hold ten of 400 KB.
    await expect.poll(() => open, PATIENT).toBe(10)
    await given.givenDeliveries(Array.from({ length: 100 }, () => ({ endpointId: 'healthy' })))
    await expect.poll(() => healthy.received.length, PATIENT).toBe(100)
    expect(open).toBe(10)
    hanging.answerWith((_, response) => response.end())
    await given.givenDeliveries([{ endpointId: 'healthy', data }])
    await expect.poll(() => healthy.received.length, PATIENT).toBe(101)
    expect(healthy.received.at(-1)?.body).toContain(data.traits.notes)
  })

  it('get small deliveries of a replay, although large live ones wait', async () => {
    let open = 0
    const { url } = await startReceiver({ answer: () => (open += 1) })
    given.setWebhooks({ id: 'crm', url })
    const data = { traits: { notes: 'x'.repeat(400_000) } }
    await given.givenDeliveries(Array.from({ length: 60 }, () => ({ data })))
    await given.startSender({ attemptWithinMs: 30_000 })
    await expect.poll(() => open, PATIENT).toBe(10)
    await given.givenDeliveries(Array.from({ length: 20 }, () => ({ replayId: randomUUID() })))
    await expect.poll(() => open, PATIENT).toBe(26)
  })

  it('share the requests in flight between processes, by their partitions', async () => {
    let open = 0
    const { url } = await startReceiver({ answer: () => (open += 1) })
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries(Array.from({ length: 200 }, () => ({})))
    await given.startSender({ owns: (partition) => partition === 1, attemptWithinMs: 30_000 })
    await expect.poll(() => open, PATIENT).toBe(8)
    await sleep(300)
    expect(open).toBe(8)
  })

  it('get deliveries of owned partitions only', async () => {
    const { url } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries(Array.from({ length: 40 }, () => ({})))
    await given.startSender({ owns: (partition) => partition === 2 })
    const pending = async () =>
      (await given.readDeliveries()).filter(({ status }) => status === 'pending').map(({ partition }) => partition)
    await expect.poll(async () => (await pending()).includes(2), PATIENT).toBe(false)
    expect(new Set(await pending())).toEqual(new Set([0, 1, 3]))
  })

  it('are asked nothing while they are disabled, and go on once they are enabled', async () => {
    const { url, received } = await startReceiver()
    given.setWebhooks({ id: 'crm', url, enabled: false })
    await given.givenDeliveries([{}, {}])
    await given.startSender()
    await sleep(500)
    expect(received).toEqual([])
    given.setWebhooks({ id: 'crm', url })
    await becomeAll('delivered', 2)
  })

  it('use a new address with the next attempt', async () => {
    const old = await startReceiver({ answer: (_, response) => response.writeHead(500).end() })
    const next = await startReceiver()
    given.setWebhooks({ id: 'crm', url: old.url })
    await given.givenDeliveries([{}])
    await given.startSender({ retryDelaysMs: Array.from({ length: 100 }, () => 50) })
    await expect.poll(() => old.received.length, PATIENT).toBeGreaterThan(0)
    given.setWebhooks({ id: 'crm', url: next.url })
    await becomeAll('delivered', 1)
    expect(next.received.map(idOf)).toEqual([idOf(old.received[0] ?? ({} as Received))])
  })

  it('that are not in the catalog, or whose secret cannot be read, get nothing', async () => {
    const { url, received } = await startReceiver()
    await given.givenDeliveries([{ endpointId: 'removed' }])
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{ endpointId: 'crm' }])
    await given.startSender()
    await expect.poll(() => received.length, PATIENT).toBe(1)
    await sleep(300)
    expect(await statuses()).toEqual(['pending', 'delivered'])
  })

  it('are disabled by a 410, and their deliveries stay pending', async () => {
    const { url, received } = await startReceiver({ answer: (_, response) => response.writeHead(410).end() })
    given.setWebhooks({ id: 'crm', url })
    const userId = randomUUID()
    await given.givenDeliveries([{ userId }, { userId }])
    await given.startSender({ retryDelaysMs: [] })
    await expect.poll(given.readHealth, PATIENT).toMatchObject({
      disabledAt: expect.any(Date),
      because: 'It answered 410 (Gone).',
    })
    await sleep(400)
    expect(received).toHaveLength(1)
    expect(await given.readDeliveries()).toMatchObject([
      { status: 'pending', attempts: 1, round: 0 },
      { status: 'pending', attempts: 0 },
    ])
  })

  it('are disabled after five days of failures, not before, and a delivery ends them', async () => {
    let [status, clockMs] = [500, Date.now() + 1_000]
    const { url, received } = await startReceiver({ answer: (_, response) => response.writeHead(status).end() })
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{}])
    const delays = Array.from({ length: 8 }, () => DAY_MS)
    await given.startSender({ retryDelaysMs: delays, now: () => new Date(clockMs) })
    /** Lets the next attempts be made, each somewhat more than a day after the one before. */
    const waitForAttempts = async (count: number) => {
      for (let nth = 0; nth < count; nth += 1) {
        const before = (await given.readAttempts()).length
        clockMs += 1.2 * DAY_MS
        await expect.poll(async () => (await given.readAttempts()).length, PATIENT).toBe(before + 1)
      }
    }
    const failingSince = new Date(clockMs)
    await expect.poll(given.readHealth, PATIENT).toMatchObject({ failingSince, disabledAt: null })

    await waitForAttempts(4)
    expect(await given.readHealth()).toMatchObject({ failingSince, disabledAt: null })
    status = 200
    await waitForAttempts(1)
    await becomeAll('delivered', 1)
    await expect.poll(given.readHealth, PATIENT).toMatchObject({ failingSince: null, disabledAt: null })

    status = 500
    await given.givenDeliveries([{}])
    await expect.poll(() => received.length, PATIENT).toBe(7)
    await expect.poll(given.readHealth, PATIENT).toMatchObject({ failingSince: new Date(clockMs) })
    await waitForAttempts(5)
    await expect.poll(given.readHealth, PATIENT).toMatchObject({
      disabledAt: new Date(clockMs),
      because: 'No delivery has succeeded for five days.',
    })
    expect((await statuses()).toSorted()).toEqual(['delivered', 'pending'])
  })

  it('that were not attempted for two days begin to fail again', async () => {
    let clockMs = Date.now() + 1_000
    const { url } = await startReceiver({ answer: (_, response) => response.writeHead(500).end() })
    given.setWebhooks({ id: 'crm', url })
    await given.startSender({ retryDelaysMs: [], now: () => new Date(clockMs) })
    const failAfterDays = async (days: number) => {
      clockMs += days * DAY_MS
      const [id] = await given.givenDeliveries([{}])
      const statusOf = async () => (await given.readDeliveries()).find(({ deliveryId }) => deliveryId === id)?.status
      await expect.poll(statusOf, PATIENT).toBe('failed')
      return given.readHealth()
    }
    await failAfterDays(0)
    const failingSince = new Date(clockMs + 7 * DAY_MS)
    expect(await failAfterDays(7)).toMatchObject({ failingSince, disabledAt: null })
    // A failure on each of these days is one failure of five days.
    for (const days of [1.9, 1.9]) expect(await failAfterDays(days)).toMatchObject({ failingSince, disabledAt: null })
    clockMs += 1.9 * DAY_MS
    await given.givenDeliveries([{}])
    await expect.poll(given.readHealth, PATIENT).toMatchObject({ failingSince, disabledAt: new Date(clockMs) })
  })

  it('that were removed and added again begin with another health', async () => {
    const { url } = await startReceiver({ answer: (_, response) => response.writeHead(410).end() })
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{}])
    await given.startSender()
    await expect.poll(given.readHealth, PATIENT).toMatchObject({ disabledAt: expect.any(Date) })
    const healthy = await startReceiver()
    const addedAt = '2026-11-20T10:00:00.000Z'
    given.setWebhooks({ id: 'crm', url: healthy.url, addedAt })
    const [deliveryId = ''] = await given.givenDeliveries([{ addedAt }])
    await expect.poll(() => healthy.received.length, PATIENT).toBe(1)
    await expect.poll(given.readHealth, PATIENT).toMatchObject({ disabledAt: null, because: null, failingSince: null })
    // The delivery of the previous endpoint does not go to this one.
    expect(await given.readDeliveries()).toMatchObject([{ status: 'pending' }, { deliveryId, status: 'delivered' }])
  })
})

describe('the log of a sender', { timeout: 60_000 }, () => {
  it('names an endpoint that is disabled once, and contains nothing of requests and responses', async () => {
    const lines: string[] = []
    const note = (...line: readonly unknown[]) => void lines.push(JSON.stringify(line))
    const secret = newSecret()
    const { url, received } = await startReceiver({
      answer: (_, response) => response.writeHead(received.length < 10 ? 500 : 410).end('a personal response'),
    })
    given.setWebhooks({ id: 'crm', url, secret })
    await given.givenDeliveries(Array.from({ length: 20 }, () => ({ data: { formId: 'a personal request' } })))
    await given.startSender({ logger: { info: note, warn: note }, retryDelaysMs: [DAY_MS] })
    await expect.poll(given.readHealth, PATIENT).toMatchObject({ disabledAt: expect.any(Date) })
    await expect.poll(() => lines, PATIENT).toHaveLength(1)
    expect(lines[0]).toContain('acme/shop/crm')
    const users = (await given.readDeliveries()).map(({ userId }) => userId)
    for (const hidden of ['personal', secret, url, ...users]) expect(lines.join('\n')).not.toContain(hidden)
  })
})

describe('rows that change while a request is in flight', { timeout: 60_000 }, () => {
  it('stay deleted, if the user was erased', async () => {
    const { url, received, answerWith } = await startReceiver({
      answer: (_, response) => void erase().then(() => response.end('received')),
    })
    const erase = () =>
      given.db().executeAll([sql`DELETE FROM deliveries`, sql`DELETE FROM attempts`, sql`DELETE FROM turns`])
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{}])
    await given.startSender()
    await expect.poll(() => received.length, PATIENT).toBe(1)
    // The next one tells that the result before it is saved.
    answerWith((_, response) => response.end())
    await given.givenDeliveries([{}])
    await expect.poll(statuses, PATIENT).toEqual(['delivered'])
    expect(await given.readAttempts()).toHaveLength(1)
    expect(await given.readTurns()).toEqual([])
  })

  it('are not sent, if the user was erased before the endpoint accepted the connection', async () => {
    const { url, received } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    const { promise: accepted, resolve: accept } = Promise.withResolvers<void>()
    let connecting = 0
    const { connectTo } = createConnector({ networks: LOOPBACK, isHttpAllowed: true })
    const slowly: typeof connectTo = async (target) => {
      connecting += 1
      await accepted
      return connectTo(target)
    }
    await given.givenDeliveries([{ data: { formId: 'erased' } }])
    await given.startSender({ connector: { connectTo: slowly } })
    await expect.poll(() => connecting, PATIENT).toBe(1)
    // Until then, the delivery counts as just read.
    await sleep(1_050)
    await given.db().executeAll([sql`DELETE FROM deliveries`, sql`DELETE FROM turns`])
    accept()
    await given.givenDeliveries([{ data: { formId: 'kept' } }])
    await becomeAll('delivered', 1)
    expect(received.map(({ body }) => body)).toEqual([expect.stringContaining('kept')])
  })

  it('keep a turn whose next delivery the fold has written meanwhile', async () => {
    const { url, received } = await startReceiver({
      answer: (_, response) => {
        if (received.length > 1) response.end()
        else void given.givenDeliveries([{ userId }]).then(() => response.end())
      },
    })
    const userId = randomUUID()
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{ userId }])
    await given.startSender()
    await becomeAll('delivered', 2)
    expect(await given.readTurns()).toEqual([])
  })

  it('save the result although the endpoint is disabled or removed', async () => {
    const { url } = await startReceiver({
      answer: (_, response) => {
        given.setWebhooks()
        response.end()
      },
    })
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{}])
    await given.startSender()
    await becomeAll('delivered', 1)
    expect(await given.readAttempts()).toHaveLength(1)
  })

  it('do not delay the end of the process if Postgres does not answer', async () => {
    const { url, received } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{}])
    const silent = { ...given.db(), executeAll: () => new Promise<never>(() => {}) }
    const sender = await given.startSender({ db: silent })
    await expect.poll(() => received.length, PATIENT).toBe(1)
    await sender.stop()
    expect(await given.readDeliveries()).toMatchObject([{ status: 'pending', attempts: 0 }])
  })

  it('count no attempt if the process stops before the response', async () => {
    const { url, received, answerWith } = await startReceiver({ answer: () => {} })
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{}])
    const sender = await given.startSender()
    await expect.poll(() => received.length, PATIENT).toBe(1)
    await sender.stop()
    expect(await given.readDeliveries()).toMatchObject([{ status: 'pending', attempts: 0 }])
    answerWith((_, response) => response.end())
    await given.startSender()
    await becomeAll('delivered', 1)
    expect(received.map(idOf)[0]).toBe(received.map(idOf)[1])
  })
})
