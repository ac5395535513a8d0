import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { consumers } from '@nextvisit/services'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually, type ThrowAwayStack, withProducer } from '@nextvisit/testing/black-box'

/** Text in every sent userName, trait value, key and URL, which no log line may contain. */
const CANARY = `canary${randomBytes(8).toString('hex')}`
const SERVICES = ['gateway', ...consumers.map(({ name }) => name)] as const
const VICTIMS = [...SERVICES, 'redis', 'postgres', 'kafka'] as const

let stack: ThrowAwayStack

interface Sent {
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object | string
}

/** Sends a request. Resolves to the status; 0 without an answer, because the gateway was killed. */
async function send({ method = 'POST', path: where, key = stack.keys.admin, headers, body }: Sent): Promise<number> {
  try {
    const response = await fetch(`${stack.gatewayUrl}${where}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-api-key': key, ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    await response.arrayBuffer()
    return response.status
  } catch {
    return 0
  }
}

const IDENTIFY = `/v2/admin/identify-user?query=${CANARY}`
const userName = `${CANARY}@example.com`
const identify = (body: object, rest: Partial<Sent> = {}) =>
  send({ path: IDENTIFY, body: { userName, ...body }, ...rest })
const track = (body: object) => send({ path: `/v2/admin/track-event?query=${CANARY}`, body: { userName, ...body } })
const visit = (body: object) =>
  send({ path: `/v2/sdk/identify-user?query=${CANARY}`, key: stack.keys.sdk, body: { userName, ...body } })
const get = (where: string) => send({ method: 'GET', path: where })

/** Sends accepted requests and reads. */
function accepted(): Promise<readonly number[]> {
  return Promise.all([
    identify({ userAttributes: { $set: { plan: 'pro', secret: CANARY, list: [CANARY] }, $increment: { visits: 1 } } }),
    identify({ $deviceInfo: { $app: CANARY, $deviceId: CANARY } }, { headers: { 'idempotency-key': CANARY } }),
    track({ eventName: 'Checkout Completed', properties: { [CANARY]: CANARY, phone: CANARY, list: [CANARY] } }),
    visit({ userAttributes: { $set: { email: CANARY } }, userSignature: CANARY }),
    get(`/v2/admin/users/${CANARY}%40example.com?query=${CANARY}`),
    get(`/v2/admin/users?userName=${CANARY}`),
    get(`/v2/admin/events?after=${CANARY}`),
  ])
}

/** Returns whether requests were accepted. They are sent at once, so the first event may precede its user's identify. */
const isAccepted = (statuses: readonly number[]): boolean => !statuses.includes(503) && statuses[2] === 202

/** Sends refused requests. */
function refused(): Promise<readonly number[]> {
  return Promise.all([
    identify({ userAttributes: { $increment: { visits: CANARY } } }),
    identify({ userAttributes: { [CANARY]: CANARY } }),
    identify({ $deviceInfo: { $timezone: CANARY } }),
    identify({}, { body: `{"userName":"${CANARY}"` }),
    identify({}, { key: `nv_admin_P_${CANARY}` }),
    identify({}, { headers: { 'content-type': `text/${CANARY}` } }),
    identify({}, { headers: { 'idempotency-key': `${CANARY} ` + CANARY } }),
    track({ eventName: 'Checkout Completed', userName: `nobody-${CANARY}` }),
    track({ eventName: 'Checkout Completed', occurredAt: CANARY }),
    track({ eventName: 'Checkout Completed', properties: { [CANARY]: CANARY.repeat(200) } }),
    get(`/${CANARY}`),
    get(`/v2/admin/users/${CANARY}%ff`),
    get(`/v2/admin/users?userName=${CANARY}%00`),
  ])
}

/** Publishes unreadable records, each of which becomes a dead letter and a log line. */
async function publishUnreadable(): Promise<void> {
  const fact = JSON.stringify({ type: 'IdentifyRequested', userName: CANARY, operations: { set: { secret: CANARY } } })
  const values = [CANARY, `{"${CANARY}`, fact]
  const messages = values.map((value) => ({ key: CANARY, value }))
  await withProducer(stack, (producer) => producer.send({ topic: 'user-events', messages }))
}

async function logLines(): Promise<readonly { readonly file: string; readonly line: string }[]> {
  const folder = path.join(stack.dataDirectory, 'logs')
  const files = await readdir(folder)
  const texts = await Promise.all(files.map((file) => readFile(path.join(folder, file), 'utf8')))
  return files.flatMap((file, index) =>
    (texts[index] ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => ({ file, line })),
  )
}

/** Tests the logs of a stack with `LOG_LEVEL=debug`. It kills every process once. */
export function describeLogScan(stackOf: () => ThrowAwayStack): void {
  describe('no log line of any process', () => {
    beforeAll(() => {
      stack = stackOf()
    })

    it('contains a userName, a trait value, a key or a URL, during any failure', { timeout: 300_000 }, async () => {
      const atFirst = await eventually(accepted, isAccepted, 30_000)
      expect(atFirst).toEqual([200, 200, 202, 200, expect.any(Number), 404, 200])
      // A busy machine admits the event of an unknown user unchecked.
      const unknownUser = expect.toBeOneOf([404, 202])
      expect(await refused()).toEqual([400, 400, 400, 400, 401, 415, 400, unknownUser, 400, 400, 404, 400, 400])
      await publishUnreadable()
      for (const victim of VICTIMS) {
        stack.kill(victim, 'SIGKILL')
        await accepted()
        await eventually(
          () => identify({}),
          (status) => status === 200,
          30_000,
        )
        await accepted()
      }
      await eventually(
        () => get(`/v2/admin/users?userName=${userName}`),
        (status) => status === 200,
        30_000,
      )

      const lines = await logLines()
      expect(SERVICES.filter((service) => !lines.some(({ file }) => file === `${service}.log`))).toEqual([])
      expect(lines.filter(({ line }) => /dead letter/i.test(line)).length).toBeGreaterThan(0)
      const secrets = [CANARY, stack.keys.admin, stack.keys.sdk]
      expect(lines.filter(({ line }) => secrets.some((secret) => line.includes(secret)))).toEqual([])
    })
  })
}
