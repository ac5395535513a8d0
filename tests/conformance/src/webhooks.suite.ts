import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  eventually,
  keyNamed,
  readTopic,
  type ThrowAwayStack,
  type TopicRecord,
  workspaceVariables,
} from '@nextvisit/testing/black-box'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createStackCaller, createStackCommands } from './stack-commands.ts'
import { accept, failingAtRandom, hangingFor, startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts'

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`
const PROJECT = 'hooks/shop'
/** A changed membership, and a form that is queued, delivered, and answered or dismissed. */
const RECORDS_A_STEP = 4
const ENDPOINTS = ['flaky', 'hanging', 'healthy', 'late'] as const
type EndpointId = (typeof ENDPOINTS)[number]
/** Requests that hang at a time. */
const HANGING = 3

/** An organization whose users get a form and enter a segment with each purchase. `endpoints`: lines of YAML. */
const organization = (endpoints: readonly string[]) => `
  - id: hooks
    projects:
      - id: shop
        rateLimits: { admin: { perSecond: 5000, burst: 9000 }, sdk: { perSecond: 5000, burst: 9000 } }
        keys:
          - { name: backend, kind: admin, environment: P, secret: $HOOKS_ADMIN_P, mayErase: true }
          - { name: web, kind: sdk, environment: P, secret: $HOOKS_SDK_P }
        segments:
          - { id: buyers, where: { trait: plan, is: pro } }
        forms:
          - id: nps
            triggers: [{ event: bought }]
            frequency: { repeat: always }
            content: { elements: [{ id: score, type: nps }, { id: why, type: text }] }
        webhooks:${endpoints.map((line) => `\n          - ${line}`).join('')}
`

/** The type of the webhook that reports a record; undefined: none. An implementation of its own of webhooks.md. */
function typeOf({ type, outcome, status }: TopicRecord['value']): string | undefined {
  const types: Readonly<Record<string, string>> = {
    FormQueued: 'form.queued',
    FormDelivered: 'form.delivered',
    FormExpired: 'form.expired',
    SegmentEntered: 'user.entered_segment',
    SegmentLeft: 'user.left_segment',
    QueueErased: 'user.erased',
  }
  if (type !== 'FormAnswered') return types[String(type)]
  if (outcome !== 'recorded' || status === 'partial') return undefined
  return status === 'finished' ? 'form.answered' : 'form.dismissed'
}

/** Tests webhooks.md with an organization of its own. Its stack retries soon: `WEBHOOK_RETRY_DELAYS`. */
export function describeWebhooks(stackOf: () => ThrowAwayStack): void {
  const secrets = new Map(ENDPOINTS.map((id) => [id, newSecret()]))
  const variables = new Map(workspaceVariables(organization([])))
  for (const [id, secret] of secrets) variables.set(`HOOK_${id.toUpperCase()}`, secret)
  const { nextvisit } = createStackCommands(stackOf, variables)
  const { post, get } = createStackCaller(stackOf, () => keyNamed('HOOKS_ADMIN_P'))
  const receivers = new Map<EndpointId, WebhookReceiver>()
  const receiver = (id: EndpointId) => receivers.get(id) as WebhookReceiver
  const users = Array.from({ length: 6 }, (_, index) => `buyer-${index}`)
  const userIds = new Map<string, string>()
  let folder: string

  const line = (id: EndpointId, rest = '') =>
    `{ id: ${id}, url: "${receiver(id).url}", secret: $HOOK_${id.toUpperCase()}${rest} }`

  async function apply(endpoints: readonly string[]): Promise<void> {
    const file = path.join(folder, 'workspace.yaml')
    await writeFile(file, `organizations:${organization(endpoints)}`)
    expect(await nextvisit('apply', file)).toMatchObject({ exitCode: 0 })
  }

  /** A user joins the segment, buys, gets the form and answers it. */
  async function act(userName: string, step: number): Promise<void> {
    const plan = step % 2 === 0 ? 'pro' : 'free'
    const identified = await post('/v2/admin/identify-user', { userName, userAttributes: { $set: { plan } } })
    expect(identified.status).toBe(200)
    userIds.set(userName, String(identified.body['userId']))
    expect((await post('/v2/admin/track-event', { userName, eventName: 'Bought' })).status).toBe(202)
    const visit = () => post('/v2/sdk/identify-user', { userName }, { key: keyNamed('HOOKS_SDK_P') })
    const { body } = await eventually(visit, (visited) => visited.body['nextFeedback'] !== undefined, 30_000, 300)
    const { offerId, formId, revision } = body['nextFeedback'] as Record<string, unknown>
    const answer = (answers: object, status: string) =>
      post('/v2/admin/answers', { userName, offerId, formId, revision, answers, status })
    expect((await answer({ score: step }, 'partial')).status).toBe(202)
    expect((await answer({ score: step, why: 'Fast' }, step % 3 === 0 ? 'dismissed' : 'finished')).status).toBe(202)
  }

  /** Returns the ids of the records that a webhook reports, by user, in the order of the log. */
  async function expectedIds(): Promise<ReadonlyMap<string, readonly string[]>> {
    const records = await readTopic(stackOf().brokers, 'form-events')
    const own = records.filter(({ value }) => value['organization'] === 'hooks' && typeOf(value) !== undefined)
    const ids = Map.groupBy(own, ({ value }) => String(value['userId']))
    return new Map(
      Array.from(ids, ([userId, of]) => [userId, [...new Set(of.map(({ value }) => String(value['id'])))]]),
    )
  }

  /**
   * Waits until the log has everything that users have done in this number of steps, and an endpoint has accepted it. Returns the ids by
   * user: accepted, and as in the log.
   */
  async function readIds(id: EndpointId, steps: number, withinMs = 60_000) {
    const isComplete = (log: ReadonlyMap<string, readonly string[]>) =>
      log.size === users.length &&
      [...log].every(
        ([userId, ids]) => ids.length >= steps * RECORDS_A_STEP && receiver(id).accepted(userId).length >= ids.length,
      )
    const log = await eventually(expectedIds, isComplete, withinMs, 1_000)
    const accepted = Array.from(log.keys(), (userId) => [userId, receiver(id).accepted(userId)] as const)
    return { accepted: new Map(accepted), log }
  }

  /** Waits until an endpoint has accepted everything, and compares the ids of each user with the log. */
  async function expectEverything(id: EndpointId, steps: number): Promise<void> {
    const { accepted, log } = await readIds(id, steps)
    expect(accepted).toEqual(log)
    expect(receiver(id).unverified()).toEqual([])
  }

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
    for (const [id, secret] of secrets) receivers.set(id, await startWebhookReceiver(secret))
  }, 30_000)
  afterAll(async () => {
    for (const one of receivers.values()) await one.stop()
    await rm(folder, { recursive: true, force: true })
  })

  // Each test continues where the one before ended.
  describe('webhooks (webhooks.md)', { timeout: 240_000 }, () => {
    it('lose nothing and keep the order of each user, while requests fail and the dispatcher is killed', async () => {
      await apply([line('flaky', ', include: [traits]'), line('hanging'), line('healthy')])
      receiver('flaky').reactWith(failingAtRandom(Math.random))
      for (let step = 0; step < 5; step += 1) {
        receiver('hanging').reactWith(hangingFor(HANGING))
        await Promise.all(users.map((userName) => act(userName, step)))
        stackOf().kill('webhook-dispatcher', 'SIGKILL')
      }
      receiver('hanging').reactWith(accept)
      for (const id of ['healthy', 'flaky', 'hanging'] as const) {
        const { accepted, log } = await readIds(id, 5, 120_000)
        expect(accepted).toEqual(log)
        expect(receiver(id).unverified()).toEqual([])
      }
    })

    it('have one body each, with the answers of the whole offer, and the profile only if it is included', async () => {
      const bodies = Map.groupBy(receiver('flaky').received(), ({ id }) => id)
      for (const same of bodies.values()) expect(new Set(same.map(({ body }) => body)).size).toBe(1)
      const answered = (id: EndpointId) =>
        receiver(id)
          .received()
          .filter(({ type }) => type === 'form.answered')
      for (const { data } of answered('healthy')) {
        expect(data).toMatchObject({ formId: 'nps', answers: { why: 'Fast', score: expect.any(Number) } })
        expect(data).not.toHaveProperty('traits')
      }
      for (const { data } of answered('flaky')) expect(data).toMatchObject({ traits: { plan: expect.any(String) } })
      expect(JSON.stringify(receiver('healthy').received())).not.toContain('buyer-')
    })

    it('keep their place while they are disabled', async () => {
      receiver('flaky').reactWith(accept)
      await apply([line('flaky', ', include: [traits], enabled: false'), line('hanging'), line('healthy')])
      const before = await eventually(
        async () =>
          (await get('/v2/admin/webhooks')).body['webhooks'] as { readonly id: string; readonly state: string }[],
        (all) => all.some(({ id, state }) => id === 'flaky' && state === 'disabled'),
        30_000,
      )
      expect(before).toMatchObject([
        { id: 'flaky', state: 'disabled' },
        { id: 'hanging', state: 'live' },
        { id: 'healthy', state: 'live' },
      ])
      // No kill ends these requests: they take as long as an attempt may.
      receiver('hanging').reactWith(hangingFor(HANGING))
      const sofar = receiver('flaky').received().length
      await Promise.all(users.map((userName) => act(userName, 7)))
      await expectEverything('healthy', 6)
      expect(receiver('flaky').received()).toHaveLength(sofar)
      await apply([line('flaky', ', include: [traits]'), line('hanging'), line('healthy')])
      await expectEverything('flaky', 6)
    })

    it('are sent again by a replay, also to an endpoint that was added later', async () => {
      await apply([line('flaky', ', include: [traits]'), line('hanging'), line('healthy'), line('late')])
      const from = new Date(Date.now() - 3_600_000).toISOString()
      const replay = () => post('/v2/admin/webhooks/late/replay', { from })
      const { status, body } = await eventually(replay, (begun) => begun.status === 202, 30_000, 300)
      expect({ status, body }).toMatchObject({ status: 202, body: { replayId: expect.any(String) } })
      await expectEverything('late', 6)
    })

    it('of a test arrive once, and are listed with their attempt', async () => {
      const { body } = await post('/v2/admin/webhooks/healthy/test', {})
      const read = () => get(`/v2/admin/webhooks/healthy/deliveries/${String(body['deliveryId'])}`)
      const delivery = await eventually(read, (one) => one.body['status'] === 'delivered', 30_000)
      expect(delivery.body).toMatchObject({
        type: 'webhook.test',
        status: 'delivered',
        attemptLog: [{ outcome: 'delivered', httpStatus: 204 }],
      })
      expect(
        receiver('healthy')
          .received()
          .filter(({ type }) => type === 'webhook.test'),
      ).toHaveLength(1)
    })

    it('arrive although the receiver has not answered a request until its time was over', async () => {
      await expectEverything('hanging', 6)
      const hung = receiver('hanging')
        .received()
        .filter(({ isAccepted }) => !isAccepted)
        .slice(-HANGING)
      for (const { id, data } of hung) {
        const { body } = await get(`/v2/admin/webhooks/hanging/deliveries?user=${String(data['userId'])}`)
        const deliveries = body['deliveries'] as { readonly deliveryId: string; readonly webhookId: string }[]
        const own = deliveries.find(({ webhookId }) => webhookId === id)?.deliveryId ?? ''
        expect((await get(`/v2/admin/webhooks/hanging/deliveries/${own}`)).body).toMatchObject({
          attemptLog: [{ outcome: 'timeout' }, { outcome: 'delivered' }],
        })
      }
    })

    it('tell of an erasure, and of nothing else of the user', async () => {
      const [userName = ''] = users
      const userId = userIds.get(userName) ?? ''
      expect((await post('/v2/admin/erasures', { userNames: [userName] })).status).toBe(202)
      const isTold = (id: EndpointId) => () =>
        Promise.resolve(
          receiver(id)
            .received()
            .some(({ type, data }) => type === 'user.erased' && data['userId'] === userId),
        )
      for (const id of ENDPOINTS) {
        expect(await eventually(isTold(id), Boolean, 60_000)).toBe(true)
        const list = await get(`/v2/admin/webhooks/${id}/deliveries?user=${userId}`)
        expect(list.body['deliveries']).toMatchObject([{ type: 'user.erased' }])
      }
      const from = new Date(Date.now() - 3_600_000).toISOString()
      const before = receiver('late').received().length
      const replayed = await nextvisit('webhooks', 'replay', 'late', '--project', PROJECT, '--from', from, '--wait')
      expect(replayed).toMatchObject({ exitCode: 0 })
      const again = receiver('late')
        .received()
        .slice(before)
        .filter(({ data }) => data['userId'] === userId)
      expect(again.map(({ type }) => type)).toEqual(['user.erased'])
    })
  })
}
