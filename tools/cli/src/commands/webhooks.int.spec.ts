import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  DISABLED_IN_FILE,
  DONE,
  OrganizationConfig,
  TOO_MANY_LISTENERS,
  TEST_IS_SENT_ONCE,
  TOO_MANY_REPLAYS,
  TOO_MANY_REPLAYS_KEPT,
  TOO_MANY_TESTS,
  TOO_MANY_TESTS_A_DAY,
  type WebhookDeliveryDetail,
  webhookDispatcherCalls,
  type WebhookEndpoint,
  type WebhookReplay,
} from '@nextvisit/contracts'
import { parseWebhookSecret, userIdOf } from '@nextvisit/domain'
import { type LogConnection, withLogAdmin } from '@nextvisit/log'
import { type Handlers, NOT_FOUND, serveCalls } from '@nextvisit/service-kit'
import { givenInternalServer } from '@nextvisit/service-kit/test/given-internal-server.ts'
import { createNameFile, type NameFile } from '@nextvisit/testing'
import { Webhook } from 'standardwebhooks'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { runNextvisit } from '../../test/run-nextvisit.ts'
import { applyWorkspace } from '../workspace/apply-workspace.ts'

const MAIN = path.resolve(import.meta.dirname, '../main.ts')
const connection: LogConnection = { brokers: inject('kafkaBrokers').split(','), clientId: 'cli-spec' }
const topic = `test-catalog-${randomUUID().slice(0, 8)}`
const TOKEN = 'a token of some length'
const AT = '2026-11-28T12:00:00.000Z'
const [DELIVERY, OTHER, REPLAY, SECOND_REPLAY] = [1, 2, 3, 4].map(
  (nth) => `0192f3a0-0000-4000-8000-00000000000${nth}`,
) as [string, string, string, string]

const attempt = { at: AT, durationMs: 34, outcome: 'refused', httpStatus: 500 } as const
const delivery = {
  deliveryId: DELIVERY,
  webhookId: OTHER,
  type: 'form.answered',
  userId: userIdOf('acme', 'shop', 'ada'),
  status: 'failed',
  attempts: 10,
  timestamp: AT,
  createdAt: AT,
} as const
const detail: WebhookDeliveryDetail = {
  ...delivery,
  body: '{"type":"form.answered","text":"\u001b[31m"}',
  attemptLog: [{ ...attempt, error: 'status 500', response: 'oops' }],
}
const crm: WebhookEndpoint = {
  id: 'crm',
  url: 'https://crm.example',
  include: [],
  state: 'live',
  addedAt: AT,
  behind: 0,
  pending: 0,
  failed: 2,
  lastDeliveredAt: AT,
  replays: [],
}
const replay: WebhookReplay = {
  replayId: REPLAY,
  from: AT,
  requestedAt: AT,
  status: 'running',
  progress: 0.456,
  deliveries: 1_200,
  pending: 30,
  failed: 0,
}

type DispatcherHandlers = Handlers<typeof webhookDispatcherCalls>

/** Starts a server that answers like the dispatcher, and returns a function that runs a command beside it. */
async function givenDispatcher(special: Partial<DispatcherHandlers> = {}, own: { host?: string; port?: number } = {}) {
  const asked: [call: string, question: unknown][] = []
  const notFound = Object.fromEntries(
    Object.keys(webhookDispatcherCalls).map((name) => [name, async () => NOT_FOUND]),
  ) as unknown as DispatcherHandlers
  const handlers = Object.fromEntries(
    Object.entries({ ...notFound, ...special }).map(([name, handle]) => [
      name,
      (question: unknown, context: unknown) => {
        asked.push([name, question])
        return (handle as (...args: readonly unknown[]) => unknown)(question, context)
      },
    ]),
  ) as unknown as DispatcherHandlers
  const routes = serveCalls(webhookDispatcherCalls, handlers)
  const { url, port } = await givenInternalServer({ token: TOKEN, routes, ...own })
  const env = {
    NEXTVISIT_DATA: '/nowhere',
    KAFKA_BROKERS: inject('kafkaBrokers'),
    WEBHOOK_DISPATCHER_URLS: url,
    INTERNAL_TOKEN: TOKEN,
  }
  const run = (...args: readonly string[]) => runNextvisit(['webhooks', ...args, '--project', 'shop'], env, topic)
  return { asked, url, port, run }
}

/** Never answers. */
async function untilAborted(signal: AbortSignal): Promise<never> {
  await once(signal, 'abort')
  throw new Error('aborted')
}

beforeAll(async () => {
  await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions: 1 }))
  const webhooks = [{ id: 'crm', url: 'https://crm.example', secret: 'sealed', addedAt: AT }]
  const organizations = [OrganizationConfig.parse({ id: 'acme', projects: [{ id: 'shop', webhooks }] })]
  // In the format of a later version.
  Object.assign(organizations[0]?.projects[0] ?? {}, { webhooks: [...webhooks, { id: 'bi', batch: 10 }] })
  await applyWorkspace({ connection, organizations, contents: [], appliedBy: 'spec', topic })
})

describe('nextvisit webhooks list', () => {
  it('shows each webhook, why one is disabled and how to enable it', async () => {
    const off = { ...crm, state: 'disabled' } as const
    const { run } = await givenDispatcher({
      readEndpoints: async () => ({
        webhooks: [
          { ...crm, replays: [replay] },
          { ...crm, id: 'late', state: 'catching-up', behind: 1_234, failingSince: AT, pending: 100_000 },
          { ...off, id: 'gone', because: 'It answered 410 (Gone).', disabledAt: AT },
          { ...off, id: 'off', because: 'The workspace file disables it.' },
        ],
        countedUpTo: 100_000,
      }),
    })
    const { exitCode, stdout } = await run('list')
    expect(exitCode).toBe(0)
    expect(stdout.split('\n')).toEqual([
      'WEBHOOK  STATE        PENDING          FAILED  OLDEST PENDING  LAST DELIVERED',
      'crm      live                       0       2                  2026-11-28T12:00:00.000Z',
      'late     catching-up  100,000 or more       2                  2026-11-28T12:00:00.000Z',
      'gone     disabled                   0       2                  2026-11-28T12:00:00.000Z',
      'off      disabled                   0       2                  2026-11-28T12:00:00.000Z',
      `crm: replay ${REPLAY}: 45 % of the log read, 1,200 deliveries, 30 pending, 0 failed.`,
      `late has failed since ${AT}: see nextvisit webhooks deliveries late --project acme/shop.`,
      'late has 1,234 records of the log to read.',
      `gone is disabled since ${AT}. It answered 410 (Gone). Nothing is lost: repair its receiver, then run nextvisit webhooks enable gone --project acme/shop.`,
      'off is disabled. The workspace file disables it. Nothing is lost: set enabled: true in the workspace file and apply it.',
      '',
    ])
  })

  it('prints the answer as JSON, and tells a project without webhooks from none', async () => {
    const answer = { webhooks: [crm], countedUpTo: 100_000, stale: true as const }
    const { run } = await givenDispatcher({ readEndpoints: async () => answer })
    expect(JSON.parse((await run('list', '--json')).stdout)).toEqual(answer)
    const empty = await givenDispatcher({ readEndpoints: async () => ({ webhooks: [], countedUpTo: 0 }) })
    expect(await empty.run('list')).toMatchObject({ exitCode: 0, stdout: 'Project acme/shop has no webhooks.\n' })
  })

  it('gives up within seconds if the dispatcher is stuck', async () => {
    const { run } = await givenDispatcher({ readEndpoints: async (_, { signal }) => untilAborted(signal) })
    const beganMs = performance.now()
    const stderr = 'The webhook dispatcher cannot answer now: see nextvisit status.\n'
    expect(await run('list')).toEqual({ exitCode: 1, stdout: '', stderr })
    expect(performance.now() - beganMs).toBeLessThan(9_000)
  })
})

describe('nextvisit webhooks deliveries', () => {
  it('shows the latest of a user, page by page', async () => {
    const { asked, run } = await givenDispatcher({
      readDeliveries: async ({ after }) => ({
        deliveries: [{ ...delivery, lastAttempt: attempt, ...(after !== undefined && { deliveryId: OTHER }) }],
        next: after === undefined ? `${AT}_${DELIVERY}` : `${AT}_${OTHER}`,
      }),
    })
    const { stdout, stderr } = await run('deliveries', 'crm', '--user', 'ada', '--status', 'failed', '--limit', '2')
    const rest = `${AT}  form.answered  ${delivery.userId}  failed        10  500 in 34 ms`
    expect(stdout.split('\n').slice(1)).toEqual([`${DELIVERY}  ${rest}`, `${OTHER}  ${rest}`, ''])
    expect(stderr).toBe('Shown: the latest 2. Use --limit to show more.\n')
    const question = {
      organization: 'acme',
      project: 'shop',
      endpointId: 'crm',
      status: 'failed',
      userId: delivery.userId,
    }
    expect(asked.map(([, one]) => one)).toEqual([
      { ...question, limit: 2 },
      { ...question, limit: 1, after: `${AT}_${DELIVERY}` },
    ])
  })

  it('shows one with its body and attempts, without control characters', async () => {
    const { run } = await givenDispatcher({ readDelivery: async () => detail })
    const { stdout } = await run('deliveries', 'crm', DELIVERY)
    expect(stdout).toContain(`deliveryId: ${DELIVERY}\n`)
    expect(stdout).toContain('body: {"type":"form.answered","text":"\\u{1b}[31m"}\n')
    expect(stdout).toContain(`\n${AT}  500 in 34 ms\n  status 500\n  response: oops\n`)
    expect(JSON.parse((await run('deliveries', 'crm', DELIVERY, '--json')).stdout)).toEqual(detail)
  })

  it.each([
    [['crm', DELIVERY], 1, `Webhook crm has no delivery ${DELIVERY}. Deliveries are kept for 30 days`],
    [['crm'], 1, 'The webhook dispatcher does not know the webhook crm yet: try again.'],
    [['cmr'], 2, 'Project acme/shop has no webhook cmr. Known: crm.'],
    [['bi'], 1, 'This version does not understand the webhook bi ('],
    [['crm', 'latest'], 2, 'It must be a UUID.'],
    [['crm', '--user', 'ada', '--user-id', DELIVERY], 2, 'Use --user or --user-id, not both.'],
    [['crm', '--status', 'lost'], 2, 'Allowed choices are pending, delivered, failed'],
  ] as const)('of %j ends with %d and states the correction', async (args, exitCode, message) => {
    const { run } = await givenDispatcher()
    expect(await run('deliveries', ...args)).toMatchObject({ exitCode, stderr: expect.stringContaining(message) })
  })
})

describe('nextvisit webhooks replay', () => {
  const range = ['--from', '2026-11-27', '--to', '2026-11-28T09:00:00+01:00']

  it('begins a replay of a range and some events', async () => {
    const { asked, run } = await givenDispatcher({ replay: async () => ({ replayId: REPLAY }) })
    const { stdout } = await run('replay', 'crm', ...range, '--events', 'form.answered,user.erased')
    expect(stdout).toBe(`Replay ${REPLAY} of crm has begun.\n`)
    expect(asked).toEqual([
      [
        'replay',
        {
          organization: 'acme',
          project: 'shop',
          endpointId: 'crm',
          from: '2026-11-27T00:00:00.000Z',
          to: '2026-11-28T08:00:00.000Z',
          events: ['form.answered', 'user.erased'],
        },
      ],
    ])
  })

  it.each([
    [0, 0],
    [7, 1],
  ])('waits until it is complete, and with %d failed deliveries ends with %d', async (failed, exitCode) => {
    const complete = { ...replay, status: 'complete', progress: 1, pending: 0, failed } as const
    let left = 2
    const { run } = await givenDispatcher({
      replay: async () => ({ replayId: REPLAY }),
      readEndpoints: async () => {
        const isRunning = (left -= 1) > 0
        const own = { ...crm, state: isRunning ? ('disabled' as const) : ('live' as const) }
        const another = { ...replay, replayId: SECOND_REPLAY }
        return { webhooks: [{ ...own, replays: [another, isRunning ? replay : complete] }], countedUpTo: 1_200 }
      },
    })
    const ended = await run('replay', 'crm', ...range, '--wait')
    expect(ended.exitCode).toBe(exitCode)
    expect(ended.stdout.split('\n').at(-2)).toBe(
      `Complete: replay ${REPLAY}: 100 % of the log read, 1,200 or more deliveries, 0 pending, ${failed} failed.`,
    )
    expect(ended.stderr).toContain('crm is disabled: the replay waits.\n')
    expect(ended.stderr.includes(`nextvisit webhooks retry crm --from ${AT} --project acme/shop`)).toBe(failed > 0)
  })

  it('says that too many are not complete', async () => {
    const { run } = await givenDispatcher({ replay: async () => TOO_MANY_REPLAYS })
    expect(await run('replay', 'crm', ...range)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('crm has 10 replays that are not complete: wait until one is.'),
    })
  })

  it('says that there were too many in 30 days', async () => {
    const { run } = await givenDispatcher({ replay: async () => TOO_MANY_REPLAYS_KEPT })
    const stderr = 'crm has had 100 replays in 30 days. One replay can send a longer range.\n'
    expect(await run('replay', 'crm', ...range)).toEqual({ exitCode: 1, stdout: '', stderr })
  })

  it.each([
    [['crm'], "required option '--from <instant>' not specified"],
    [['crm', '--from', '2026-11-28', '--to', '2026-11-28'], '--to must be after --from.'],
    [['crm', '--from', 'yesterday'], 'It must be a day or an instant'],
    [['crm', ...range, '--events', 'form.shown'], 'form.shown is not among form.queued, form.delivered,'],
  ])('of %j ends with 2 and states the correction', async (args, message) => {
    const { asked, run } = await givenDispatcher()
    expect(await run('replay', ...args)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(message) })
    expect(asked).toEqual([])
  })
})

describe('nextvisit webhooks retry', () => {
  it('sends one delivery, or the failed ones of a range, again', async () => {
    const { asked, run } = await givenDispatcher({
      retryDelivery: async () => ({ deliveryId: DELIVERY }),
      retryFailed: async () => ({ retried: 1_234 }),
    })
    // Named by its webhook-id.
    expect((await run('retry', 'crm', OTHER)).stdout).toBe(`Delivery ${DELIVERY} is sent again.\n`)
    expect((await run('retry', 'crm', '--from', '2026-11-27')).stdout).toBe('1,234 failed deliveries are sent again.\n')
    const crmOfShop = { organization: 'acme', project: 'shop', endpointId: 'crm' }
    expect(asked).toEqual([
      ['retryDelivery', { ...crmOfShop, deliveryId: OTHER }],
      ['retryFailed', { ...crmOfShop, from: '2026-11-27T00:00:00.000Z' }],
    ])
  })

  it.each([
    [['crm'], 2, 'Name one delivery by its id, or failed ones by --from and --to.'],
    [['crm', DELIVERY, '--from', '2026-11-27'], 2, 'Name one delivery by its id, or failed ones by'],
    [['crm', '--to', '2026-11-27'], 2, 'Name one delivery by its id, or failed ones by --from and --to.'],
    [['crm', DELIVERY], 1, `Webhook crm has no delivery ${DELIVERY}.`],
    [['cmr', DELIVERY], 2, 'Project acme/shop has no webhook cmr.'],
  ] as const)('of %j ends with %d and states the correction', async (args, exitCode, message) => {
    const { run } = await givenDispatcher()
    expect(await run('retry', ...args)).toMatchObject({ exitCode, stderr: expect.stringContaining(message) })
  })
})

/** A dispatcher whose test ends like this, at the second question. */
function givenTest(outcome: Partial<WebhookDeliveryDetail>) {
  let left = 2
  return givenDispatcher({
    testEndpoint: async () => ({ deliveryId: DELIVERY }),
    readDelivery: async () => ({
      ...detail,
      type: 'webhook.test',
      status: 'pending',
      attemptLog: [],
      ...((left -= 1) > 0 ? {} : outcome),
    }),
  })
}

describe('nextvisit webhooks test', () => {
  it('shows that the receiver has accepted it', async () => {
    const { run } = await givenTest({
      status: 'delivered',
      attemptLog: [{ at: AT, durationMs: 12, outcome: 'delivered', httpStatus: 204 }],
    })
    expect(await run('test', 'crm')).toEqual({
      exitCode: 0,
      stdout: 'crm has accepted the test: 204 in 12 ms.\n',
      stderr: '',
    })
  })

  it('shows why the receiver has not', async () => {
    const { run } = await givenTest({ status: 'failed', attemptLog: detail.attemptLog })
    expect(await run('test', 'crm')).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'crm has not accepted the test: 500 in 34 ms. status 500\nIts response: oops\n',
    })
  })

  it('says that too many are pending', async () => {
    const { run } = await givenDispatcher({ testEndpoint: async () => TOO_MANY_TESTS })
    const stderr = 'crm has 100 tests that are not attempted yet: wait until one is.\n'
    expect(await run('test', 'crm')).toEqual({ exitCode: 1, stdout: '', stderr })
  })

  it('says that there were too many in a day, and that one is not sent again', async () => {
    const { run } = await givenDispatcher({
      testEndpoint: async () => TOO_MANY_TESTS_A_DAY,
      retryDelivery: async () => TEST_IS_SENT_ONCE,
    })
    expect(await run('test', 'crm')).toMatchObject({ exitCode: 1, stderr: 'crm has had 1000 tests in 24 hours.\n' })
    expect(await run('retry', 'crm', '0192f3a0-0000-5000-8000-000000000001')).toMatchObject({
      exitCode: 1,
      stderr: 'A test is sent once. Send another one: nextvisit webhooks test crm.\n',
    })
  })
})

describe('nextvisit webhooks enable', () => {
  it('enables a webhook, unless the workspace file disables it', async () => {
    const done = await givenDispatcher({ enableEndpoint: async () => DONE })
    expect((await done.run('enable', 'crm')).stdout).toBe('crm is enabled. It continues where it stopped.\n')
    const inFile = await givenDispatcher({ enableEndpoint: async () => DISABLED_IN_FILE })
    expect(await inFile.run('enable', 'crm')).toMatchObject({
      exitCode: 1,
      stderr: 'crm is disabled in the workspace file: set enabled: true there, and apply it.\n',
    })
  })
})

describe('nextvisit webhooks create-secret', () => {
  it('prints a secret that apply accepts', async () => {
    const { stdout } = await runNextvisit(['webhooks', 'create-secret'], {})
    expect(parseWebhookSecret(/whsec_\S+/.exec(stdout)?.[0] ?? '')).toHaveLength(32)
  })
})

/** Signs a delivery like the library. */
function heard(secret: string, type: string, at = new Date()) {
  const body = JSON.stringify({ type, timestamp: AT, data: { userId: delivery.userId } })
  const webhookId = randomUUID()
  const headers = {
    'webhook-id': webhookId,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(webhookId, at, body),
  }
  return { headers, body }
}

/** Starts `listen` on these dispatchers as a process, and gathers its output. */
function startListening(urls: readonly string[], args: readonly string[] = [], names?: NameFile) {
  const child = spawn(process.execPath, [MAIN, 'webhooks', 'listen', '--project', 'acme/shop', ...args], {
    env: {
      NEXTVISIT_DATA: '/nowhere',
      WEBHOOK_DISPATCHER_URLS: urls.join(),
      INTERNAL_TOKEN: TOKEN,
      ...names?.environment,
    },
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()))
  return { child, output }
}

/** A dispatcher that lets one listener hear this once, and nothing then. */
function givenSpeaker(speak: (secret: string) => ReturnType<typeof heard>, own?: { host: string; port: number }) {
  let isSaid = false
  const listen: DispatcherHandlers['listen'] = async ({ secret }) => {
    if (isSaid) await sleep(200)
    const deliveries = isSaid ? [] : [speak(secret)]
    isSaid = true
    return { deliveries, missed: 0 }
  }
  return givenDispatcher({ listen }, own)
}

describe('nextvisit webhooks listen', () => {
  it('verifies and prints what each process says, until Ctrl-C, and exits with 0', async () => {
    const speakers = [
      await givenSpeaker((secret) => heard(secret, 'form.queued')),
      await givenSpeaker((secret) => heard(secret, 'form.answered')),
    ]
    const urls = [...speakers.map(({ url }) => url), 'http://127.0.0.1:1']
    const { child, output } = startListening(urls, ['--events', 'form.queued,form.answered'])
    try {
      await expect.poll(() => output.stdout.match(/signature valid/g)?.length, { timeout: 30_000 }).toBe(2)
      child.kill('SIGINT')
      expect(await once(child, 'exit')).toEqual([0, null])
    } finally {
      child.kill('SIGKILL')
    }
    expect(output.stderr).toMatch(/^Listening to form\.queued, form\.answered of acme\/shop\. .* secret whsec_\S{44}$/m)
    expect(output.stderr.match(/http:\/\/127\.0\.0\.1:1 does not answer/g)).toHaveLength(1)
    expect(output.stdout).toMatch(
      new RegExp(
        `^${AT}  form\\.queued  user ${delivery.userId}  signature valid  webhook-id \\S+\n  \\{"type":"form\\.queued"`,
        'm',
      ),
    )
    const asked = speakers.flatMap((speaker) => speaker.asked.map(([, question]) => question as { listenerId: string }))
    expect(new Set(asked.map(({ listenerId }) => listenerId)).size).toBe(1)
    expect(asked[0]).toMatchObject({ organization: 'acme', project: 'shop', events: ['form.queued', 'form.answered'] })
  })

  it('hears processes that appear, and ends with those that vanish', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
    const names = createNameFile(path.join(folder, 'names.json'))
    const first = await givenSpeaker((secret) => heard(secret, 'form.queued'))
    const { port } = first
    await names.write({ 'dispatcher.spec': ['127.0.0.1'] })
    const { child, output } = startListening([`dns+http://dispatcher.spec:${port}`], [], names)
    try {
      await expect.poll(() => output.stdout, { timeout: 30_000 }).toContain('form.queued')
      const second = await givenSpeaker((secret) => heard(secret, 'form.answered'), { host: '127.0.0.2', port })
      await names.write({ 'dispatcher.spec': ['127.0.0.1', '127.0.0.2'] })
      await expect.poll(() => output.stdout, { timeout: 30_000 }).toContain('form.answered')
      await names.write({ 'dispatcher.spec': ['127.0.0.2'] })
      const heardSince = async () => {
        const before = [first.asked.length, second.asked.length] as const
        await expect.poll(() => second.asked.length, { timeout: 30_000 }).toBeGreaterThan(before[1] + 2)
        return first.asked.length - before[0]
      }
      await expect.poll(heardSince, { timeout: 30_000 }).toBe(0)
      child.kill('SIGINT')
      expect(await once(child, 'exit')).toEqual([0, null])
    } finally {
      child.kill('SIGKILL')
      await rm(folder, { recursive: true })
    }
    expect(output.stderr).not.toContain('does not answer')
  })

  it('says that a signature is not valid, and exits with 1', async () => {
    const { url } = await givenSpeaker((secret) => ({
      ...heard(secret, 'form.queued'),
      body: '{"type":"x","data":{}}',
    }))
    const { child, output } = startListening([url], ['--json'])
    try {
      await expect.poll(() => output.stdout, { timeout: 30_000 }).toContain('"isValid":false')
      child.kill('SIGTERM')
      expect(await once(child, 'exit')).toEqual([1, null])
    } finally {
      child.kill('SIGKILL')
    }
    expect(JSON.parse(output.stdout)).toMatchObject({ isValid: false, body: '{"type":"x","data":{}}' })
    expect(output.stderr).toContain('1 of these deliveries were not signed as they should be.')
  })

  it('ends at once if no process has room for another listener', async () => {
    const { url } = await givenDispatcher({ listen: async () => TOO_MANY_LISTENERS })
    const { child, output } = startListening([url, 'http://127.0.0.1:1'])
    expect(await once(child, 'exit')).toEqual([1, null])
    expect(output.stderr).toMatch(/^The webhook dispatcher has 50 listeners already\. End one, and try again: .*\n$/)
  })

  it('ends at once if no process answers, and names the remedy', async () => {
    const { child, output } = startListening(['http://127.0.0.1:1'])
    expect(await once(child, 'exit')).toEqual([1, null])
    expect(output.stderr).toBe('The webhook dispatcher cannot answer now: see nextvisit status.\n')
  })
})
