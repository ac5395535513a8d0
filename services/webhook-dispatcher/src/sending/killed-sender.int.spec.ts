import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { compiledCode } from '@nextvisit/testing'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { newSecret } from '../../test/given-catalog.ts'
import { givenSenders, PARTITIONS } from '../../test/given-sender.ts'
import { type Received, startReceiver } from '../../test/start-receiver.ts'
import { webhookDispatcher } from '../consumer.ts'

const given = givenSenders()
const PATIENT = { timeout: 60_000, interval: 100 }
const [USERS, DELIVERIES_EACH, KILLS] = [40, 10, 5]
/** Requests of an endpoint that are in flight, or whose results are not saved. */
const CLAIMED = 4 * 32

/** Starts a process that sends to this endpoint. Returns a function that kills it. */
function startSenderProcess(url: string, secret: string) {
  const { schema } = webhookDispatcher
  const child = spawn(
    process.execPath,
    [
      path.join(import.meta.dirname, '../../test/sender-process.ts'),
      given.databaseUrl(),
      schema,
      url,
      secret,
      String(PARTITIONS),
    ],
    { env: compiledCode(), stdio: 'inherit' },
  )
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  onTestFinished(kill)
  return kill
}

/** Fails about a third of the requests: 500, 429, or a reset. Lists the ids of the others. */
async function givenMoodyReceiver() {
  let nth = 0
  const succeeded: string[] = []
  const receiver = await startReceiver({
    answer: (one, response, socket) => {
      nth += 1
      const mood = nth % 10
      if (mood === 0) response.writeHead(500).end()
      else if (mood === 3) response.writeHead(429, { 'retry-after': '0' }).end()
      else if (mood === 6) socket.resetAndDestroy()
      else {
        succeeded.push(idOf(one))
        setTimeout(() => response.end(), 10)
      }
    },
  })
  return { ...receiver, succeeded }
}

function idOf({ headers }: Received): string {
  return String(headers['webhook-id'])
}

describe('a sender that is killed', { timeout: 180_000 }, () => {
  it('loses nothing, keeps the order of each user, and sends again only what was in flight', async () => {
    const secret = newSecret()
    const { url, received, succeeded } = await givenMoodyReceiver()
    const users = Array.from({ length: USERS }, () => randomUUID())
    const sent = Array.from({ length: USERS * DELIVERIES_EACH }, (_, nth) => ({
      userId: users[nth % USERS] ?? '',
      webhookId: randomUUID(),
    }))
    await given.givenDeliveries(sent)
    for (let kills = 1; kills <= KILLS; kills += 1) {
      const kill = startSenderProcess(url, secret)
      const until = (sent.length * kills) / (KILLS + 1)
      await expect.poll(() => received.length, { ...PATIENT, interval: 5 }).toBeGreaterThan(until)
      await kill()
    }
    startSenderProcess(url, secret)
    await expect
      .poll(async () => (await given.readDeliveries()).filter(({ status }) => status !== 'delivered').length, PATIENT)
      .toBe(0)

    for (const { body, headers } of received)
      expect(() => new Webhook(secret).verify(body, headers as Record<string, string>)).not.toThrow()
    const byUser = Map.groupBy(received, ({ body }) => (JSON.parse(body) as { data: { userId: string } }).data.userId)
    for (const user of users) {
      const own = (byUser.get(user) ?? []).map(idOf)
      const inOrder = own.filter((id, at) => id !== own[at - 1])
      expect(inOrder).toEqual(sent.filter(({ userId }) => userId === user).map(({ webhookId }) => webhookId))
    }
    expect(new Set(succeeded).size).toBe(sent.length)
    expect(succeeded.length - sent.length).toBeLessThanOrEqual(KILLS * CLAIMED)
  })
})
