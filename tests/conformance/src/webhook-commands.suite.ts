import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { runNextvisit } from '@nextvisit/cli/test/run-nextvisit.ts'
import { callCarefully, keyNamed, type LoopbackServer, serveOnLoopback } from '@nextvisit/testing/black-box'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { product } from './product.ts'

const MAIN = path.resolve(import.meta.dirname, '../../../tools/cli/src/main.ts')
const PROJECT = ['--project', 'hooked/shop'] as const
const ADMIN_KEY = keyNamed('HOOKED_ADMIN_P')
const [FIRST_SECRET, SECOND_SECRET] = [1, 2].map(() => `whsec_${randomBytes(32).toString('base64')}`) as [
  string,
  string,
]

interface Payload {
  readonly type: string
  readonly data: { readonly userId?: string; readonly traits?: object }
}

interface Received {
  readonly id: string
  readonly payload: Payload
  /** The secrets that verify the request, as the library sees it. */
  readonly verifiedBy: readonly string[]
}

function verifies(secret: string, body: string, headers: Record<string, string>): boolean {
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  }
}

function send(route: string, body: Readonly<Record<string, unknown>>) {
  return callCarefully({ gatewayUrl: product().gatewayUrl, route, apiKey: ADMIN_KEY, body })
}

/** Queues the form for a user. */
async function pay(userName: string): Promise<void> {
  await send('/v2/admin/identify-user', { userName, userAttributes: { $set: { plan: 'pro' } } })
  expect(await send('/v2/admin/track-event', { userName, eventName: 'paid' })).toMatchObject({ status: 202 })
}

/** The commands about webhooks, with a real dispatcher and a receiver. */
export function describeWebhookCommands(): void {
  const received: Received[] = []
  let status = 204
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request)
    const headers = request.headers as Record<string, string>
    received.push({
      id: headers['webhook-id'] ?? '',
      payload: JSON.parse(body) as Payload,
      verifiedBy: [FIRST_SECRET, SECOND_SECRET].filter((secret) => verifies(secret, body, headers)),
    })
    response.writeHead(status)
    response.end(status === 204 ? undefined : 'as the spec wants')
  }
  let receiver: LoopbackServer
  let file: string
  let env: Readonly<Record<string, string>>

  const nextvisit = (...args: readonly string[]) => runNextvisit(args, env)
  const apply = async (secret: string, members = ''): Promise<string> => {
    const url = `${receiver.url}/hooks`
    await writeFile(
      file,
      `
organizations:
  - id: hooked
    projects:
      - id: shop
        keys: [{ name: backend, kind: admin, environment: P, secret: $HOOKED_ADMIN_P }]
        forms: [{ id: nps, triggers: [{ event: paid }], frequency: { repeat: always } }]
        webhooks: [{ id: crm, url: "${url}", secret: $HOOK_SECRET, include: [traits]${members} }]
`,
    )
    const ended = await runNextvisit(['apply', file], { ...env, HOOKED_ADMIN_P: ADMIN_KEY, HOOK_SECRET: secret })
    expect(ended).toMatchObject({ exitCode: 0 })
    return ended.stdout
  }
  const receivedAfter = async (count: number): Promise<readonly Received[]> => {
    await expect.poll(() => received.length, { timeout: 30_000 }).toBeGreaterThan(count)
    return received.slice(count)
  }

  describe('a webhook of the workspace file', () => {
    beforeAll(async () => {
      env = { NEXTVISIT_DATA: product().dataDirectory }
      file = path.join(product().dataDirectory, 'hooked.yaml')
      receiver = await serveOnLoopback((request, response) => void receive(request, response))
      const printed = await apply(FIRST_SECRET)
      expect(printed).toContain('+ hooked/shop webhook crm\n')
      expect(printed).toContain('! hooked/shop: webhook crm uses http://, which only a local stack sends.')
    }, 60_000)

    afterAll(() => receiver?.stop())

    it('gets a signed delivery, which a listener without an endpoint hears, too', async () => {
      const child = spawn(process.execPath, [MAIN, 'webhooks', 'listen', ...PROJECT, '--json'], { env })
      const output = { stdout: '', stderr: '' }
      child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()))
      child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()))
      try {
        await expect.poll(() => output.stderr, { timeout: 30_000 }).toContain('Listening to all events of hooked/shop.')
        await pay('ada')
        const [one] = await receivedAfter(0)
        expect(one).toMatchObject({
          payload: { type: 'form.queued', data: { organization: 'hooked', formId: 'nps', traits: { plan: 'pro' } } },
          verifiedBy: [FIRST_SECRET],
        })
        await expect.poll(() => output.stdout, { timeout: 30_000 }).toContain('\n')
        child.kill('SIGINT')
        expect(await once(child, 'exit')).toEqual([0, null])
        const heard = JSON.parse(output.stdout) as { body: string; headers: Record<string, string> }
        expect(heard).toMatchObject({ isValid: true, headers: { 'webhook-id': one?.id } })
        const { traits: _traits, ...thin } = one?.payload.data ?? {}
        expect(JSON.parse(heard.body)).toEqual({ ...one?.payload, data: thin })
        const [, secret = ''] = /secret (whsec_\S+)/.exec(output.stderr) ?? []
        expect(verifies(secret, heard.body, heard.headers)).toBe(true)
      } finally {
        child.kill('SIGKILL')
      }
    }, 90_000)

    it('is tested, and its failed tests are listed with the response', async () => {
      expect((await nextvisit('webhooks', 'test', 'crm', ...PROJECT)).stdout).toMatch(
        /^crm has accepted the test: 204 in/,
      )
      status = 500
      const failed = await nextvisit('webhooks', 'test', 'crm', ...PROJECT)
      status = 204
      expect(failed).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('Its response: as the spec wants\n'),
      })
      const { stdout } = await nextvisit('webhooks', 'deliveries', 'crm', ...PROJECT, '--status', 'failed', '--json')
      expect(JSON.parse(stdout)).toMatchObject({
        deliveries: [{ type: 'webhook.test', attempts: 1, lastAttempt: { outcome: 'refused', httpStatus: 500 } }],
      })
    }, 60_000)

    it('gets a delivery that it has refused at once if it is retried, with the same id', async () => {
      status = 503
      const before = received.length
      await pay('bob')
      const [refused] = await receivedAfter(before)
      status = 204
      const { stdout } = await nextvisit('webhooks', 'deliveries', 'crm', ...PROJECT, '--user', 'bob', '--json')
      const [{ deliveryId }] = (JSON.parse(stdout) as { deliveries: [{ deliveryId: string }] }).deliveries
      await nextvisit('webhooks', 'retry', 'crm', deliveryId, ...PROJECT)
      await expect.poll(() => received.at(-1)?.id, { timeout: 30_000 }).toBe(refused?.id)
      const deliveredOnce = async () =>
        (await nextvisit('webhooks', 'deliveries', 'crm', ...PROJECT, '--user', 'bob', '--status', 'delivered')).stdout
      await expect.poll(deliveredOnce, { timeout: 30_000 }).toContain(deliveryId)
    }, 90_000)

    it('gets what it has missed while the file disabled it, and is signed with both secrets during a rotation', async () => {
      await apply(FIRST_SECRET, ', enabled: false')
      expect((await nextvisit('webhooks', 'list', ...PROJECT)).stdout).toContain('crm is disabled. The workspace file')
      expect(await nextvisit('webhooks', 'enable', 'crm', ...PROJECT)).toMatchObject({ exitCode: 1 })
      const before = received.length
      await pay('cyd')
      expect(await apply(SECOND_SECRET)).toMatch(/webhook crm secret \(another one; the one before signs until \S+Z\)/)
      const [missed] = await receivedAfter(before)
      expect(missed).toMatchObject({ payload: { type: 'form.queued' }, verifiedBy: [FIRST_SECRET, SECOND_SECRET] })
    }, 90_000)

    it('gets everything again in a replay, with the ids of before', async () => {
      const before = received.filter(({ payload }) => payload.type === 'form.queued')
      const yesterday = new Date(Date.now() - 86_400_000).toISOString()
      const replayed = await nextvisit('webhooks', 'replay', 'crm', ...PROJECT, '--from', yesterday, '--wait')
      expect(replayed).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(/, 3 deliveries, 0 pending, 0 failed\.$/m),
      })
      const again = received.slice(-3).map(({ id }) => id)
      expect(new Set(again)).toEqual(new Set(before.map(({ id }) => id)))
    }, 90_000)
  })
}
