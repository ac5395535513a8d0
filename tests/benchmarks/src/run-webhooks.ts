/**
 * `pnpm benchmark:webhooks [DELIVERIES]`: measures a replay of webhooks to a receiver on loopback, after the same deliveries came live: rate,
 * CPU time, the dispatcher's memory, and the age of another endpoint's live deliveries meanwhile. Ends with 1 if a delivery is missing,
 * surplus, out of order or changed, or if the progress shrinks. Needs Linux, because it reads /proc.
 */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WebhookEndpoints, WebhookReplay, WebhookReplayBegun } from '@nextvisit/contracts'
import { callCarefully, eventually, serveOnLoopback, startThrowAwayStack } from '@nextvisit/testing/black-box'
import { measureCpu } from './cost/measure-cpu.ts'
import { readProcessUse } from './cost/process-use.ts'
import { percentile } from './percentile.ts'
import { readCountsOrExit } from './read-counts.ts'
import { CLI, runNode } from './run-node.ts'

const USERS = 100
const ITEMS_IN_BATCH = 1_000
const PROBES_PER_SECOND = 5
const IDLE_SECONDS = 10
/** Users of a form that `beside` hears of: one for each probe. */
const PROBED_USERS = 600
const IN_FLIGHT = 20
const WITHIN_MS = 900_000
const DISPATCHER = 'webhook-dispatcher'
const HELP = `Usage: npx -y pnpm benchmark:webhooks [DELIVERIES]

Starts its own stack, sends webhooks about changed segments to a receiver on loopback, and replays them. Needs Linux.

  DELIVERIES   webhooks (default 100000)
  --help`
const [deliveries = 0] = readCountsOrExit(HELP, [{ name: 'DELIVERIES', byDefault: 100_000 }])
const rounds = Math.ceil(deliveries / USERS)

interface Received {
  readonly id: string
  readonly userId: string
  readonly body: string
  readonly atMs: number
}

const say = (line: string): void => console.error(line)
const faults: string[] = []
const received = { history: [] as Received[], beside: [] as Received[] }
const receiver = await serveOnLoopback((request, response) => void receive(request, response))
say('Starting a stack …')
const stack = await startThrowAwayStack({ workspace: workspaceWith([]), isCheap: true })

try {
  await applyWebhooks()
  const probed = await identify(Array.from({ length: PROBED_USERS }, (_, index) => `probed-${index}`))
  const idle = await withProbes(probed, () => sleep(IDLE_SECONDS * 1_000))
  say(`Changing a segment of ${USERS} users ${rounds} times …`)
  const live = await measured(async () => {
    for (let round = 0; round < rounds; ) round = await changeSegments(round)
    say('Waiting for their webhooks …')
    await untilSettled()
  })
  say('Replaying …')
  const first = received.history.splice(0)
  const { result: ages, ...replay } = await measured(() => withProbes(probed, replayAll))
  compare(first, received.history)
  console.log(
    `\n${first.length} webhooks, and those of another endpoint at ${PROBES_PER_SECOND}/s (p50 · p99 ms after the event):\n`,
  )
  console.log('| | seconds | per second | dispatcher, CPU µs each | Postgres | dispatcher, MB | other endpoint |')
  console.log('|---|--:|--:|--:|--:|--:|--:|')
  console.log(lineOf('live, with its segment changes', first.length, live, '–'))
  console.log(lineOf('replay', first.length, replay, percentiles(ages)))
  console.log(`\nOther endpoint without a replay: ${percentiles(idle)} ms.`)
  await runNode([CLI, 'audit'], { NEXTVISIT_DATA: stack.dataDirectory })
} catch (error) {
  faults.push(String(error))
} finally {
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
  await receiver.stop()
  await stack.remove()
  process.exit()
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request)
  const { data } = JSON.parse(body) as { readonly data: { readonly userId: string } }
  const of = request.url === '/history' ? received.history : received.beside
  of.push({ id: String(request.headers['webhook-id']), userId: data.userId, body, atMs: performance.now() })
  response.writeHead(204).end()
}

/** Returns the workspace file with these lines of webhooks. */
function workspaceWith(webhooks: readonly string[]): string {
  return `
organizations:
  - id: acme
    projects:
      - id: shop
        rateLimits: { admin: { perSecond: 50000, burst: 90000 } }
        keys:
          - { name: backend, kind: admin, environment: P, secret: $DEMO_ADMIN_KEY }
        segments: [{ id: buyers, where: { trait: plan, is: pro } }]
        forms: [{ id: nps, triggers: [{ event: bought }] }]
        webhooks: [${webhooks.join(', ')}]
`
}

function webhook(id: string, events: string): string {
  return `{ id: ${id}, url: "${receiver.url}/${id}", secret: $HOOK_SECRET, events: [${events}] }`
}

async function applyWebhooks(): Promise<void> {
  const file = path.join(stack.dataDirectory, 'webhooks.yaml')
  const lines = [webhook('history', 'user.entered_segment, user.left_segment'), webhook('beside', 'form.queued')]
  await writeFile(file, workspaceWith(lines))
  const HOOK_SECRET = `whsec_${randomBytes(32).toString('base64')}`
  await runNode([CLI, 'apply', file], { NEXTVISIT_DATA: stack.dataDirectory, HOOK_SECRET })
  await eventually(() => readEndpoints().then((all) => all.every(({ state }) => state === 'live')), Boolean, 60_000)
}

async function call<Answer>(route: string, body: Readonly<Record<string, unknown>>): Promise<Answer> {
  const { status, answer } = await callCarefully({
    gatewayUrl: stack.gatewayUrl,
    route,
    apiKey: stack.keys.admin,
    body,
  })
  if (status === undefined || status >= 300) throw new Error(`${route}: ${status} ${JSON.stringify(answer)}`)
  return answer as Answer
}

async function readEndpoints(): Promise<WebhookEndpoints['webhooks']> {
  const response = await fetch(`${stack.gatewayUrl}/v2/admin/webhooks`, { headers: { 'x-api-key': stack.keys.admin } })
  return response.ok ? ((await response.json()) as WebhookEndpoints).webhooks : []
}

/** Identifies users. Returns their names by id. */
async function identify(userNames: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const known = new Map<string, string>()
  for (let at = 0; at < userNames.length; at += IN_FLIGHT)
    await Promise.all(
      userNames.slice(at, at + IN_FLIGHT).map(async (userName) => {
        const { userId } = await call<{ readonly userId: string }>('/v2/admin/identify-user', { userName })
        known.set(userId, userName)
      }),
    )
  return known
}

/** Sends a batch of changes, from this round on. Returns the next round. */
async function changeSegments(round: number): Promise<number> {
  const until = Math.min(rounds, round + ITEMS_IN_BATCH / USERS)
  const items = Array.from({ length: (until - round) * USERS }, (_, index) => ({
    type: 'identify',
    userName: `changing-${index % USERS}`,
    userAttributes: { $set: { plan: (round + Math.floor(index / USERS)) % 2 === 0 ? 'pro' : 'free' } },
  }))
  let left: readonly object[] = items
  while (left.length > 0) {
    const { results } = await call<{ readonly results: readonly { readonly status: number }[] }>('/v2/admin/batch', {
      items: left,
    })
    // A busy gateway refuses some.
    left = left.filter((_, index) => (results[index]?.status ?? 500) >= 300)
  }
  return until
}

/** Waits until no webhook has come for some seconds, and none is pending. */
async function untilSettled(): Promise<void> {
  let before = -1
  const isSettled = async (): Promise<boolean> => {
    const count = received.history.length
    const [history] = await readEndpoints()
    const isQuiet = count === before && history?.pending === 0 && history.behind === 0
    before = count
    return isQuiet && count > 0
  }
  if (!(await eventually(isSettled, Boolean, WITHIN_MS, 2_000))) faults.push('The webhooks did not settle.')
}

/** Replays everything, and waits until the replay is complete. */
async function replayAll(): Promise<void> {
  const from = new Date(Date.now() - WITHIN_MS).toISOString()
  const { replayId } = await call<WebhookReplayBegun>('/v2/admin/webhooks/history/replay', { from })
  let progress = 0
  const readReplay = async (): Promise<WebhookReplay | undefined> => {
    const [history] = await readEndpoints()
    const replay = history?.replays.find((one) => one.replayId === replayId)
    if (replay && replay.progress < progress) faults.push(`The progress went from ${progress} to ${replay.progress}.`)
    progress = replay?.progress ?? progress
    if (replay) say(`  ${received.history.length} came; shown: ${JSON.stringify(replay)}`)
    return replay
  }
  const shown = await eventually(readReplay, (replay) => replay?.status === 'complete', WITHIN_MS, 1_000)
  if (shown?.status !== 'complete' || shown.progress !== 1)
    faults.push(`The replay is not complete: ${JSON.stringify(shown)}`)
}

/** Tracks an event of another user regularly during the work. Returns the ms from each event until its webhook. */
async function withProbes(probed: ReadonlyMap<string, string>, work: () => Promise<void>): Promise<readonly number[]> {
  const sentMs = new Map<string, number>()
  const from = received.beside.length
  const over = new AbortController()
  const probing = (async () => {
    for (const [userId, userName] of [...probed].slice(from)) {
      if (over.signal.aborted) break
      sentMs.set(userId, performance.now())
      await call('/v2/admin/track-event', { userName, eventName: 'Bought' })
      await sleep(1_000 / PROBES_PER_SECOND)
    }
  })()
  await work()
  over.abort()
  await probing
  const came = () => received.beside.slice(from)
  await eventually(
    () => Promise.resolve(came().length),
    (count) => count >= sentMs.size,
    60_000,
  )
  if (came().length < sentMs.size)
    faults.push(`Only ${came().length} of ${sentMs.size} webhooks of the other endpoint came.`)
  return came().map(({ userId, atMs }) => atMs - (sentMs.get(userId) ?? 0))
}

interface Figures<Result> {
  readonly result: Result
  readonly seconds: number
  /** CPU seconds. */
  readonly dispatcherCpu: number
  readonly postgresCpu: number
  readonly dispatcherMb: number
}

/** Measures the time, CPU time and memory of the delivery of all webhooks. */
async function measured<Result>(work: () => Promise<Result>): Promise<Figures<Result>> {
  let bytes = 0
  const over = new AbortController()
  const watching = (async () => {
    for (; !over.signal.aborted; await sleep(500)) {
      const use = (await readProcessUse(stack.processes())).get(DISPATCHER)
      bytes = Math.max(bytes, use?.residentBytes ?? 0)
    }
  })()
  const beganMs = performance.now()
  const { result, cpuSeconds } = await measureCpu(stack, work)
  const seconds = (performance.now() - beganMs) / 1_000
  over.abort()
  await watching
  return {
    result,
    seconds,
    dispatcherCpu: cpuSeconds[DISPATCHER] ?? 0,
    postgresCpu: cpuSeconds['postgres'] ?? 0,
    dispatcherMb: bytes / 2 ** 20,
  }
}

/** Notes each difference of a replay from the first deliveries: missing and surplus ids, order of a user, bodies. */
function compare(first: readonly Received[], replayed: readonly Received[]): void {
  const bodies = new Map(first.map(({ id, body }) => [id, body]))
  const changed = replayed.filter(({ id, body }) => bodies.get(id) !== body).length
  if (changed > 0) faults.push(`${changed} webhooks of the replay have a body or an id of their own.`)
  const idsOf = (all: readonly Received[]) => Map.groupBy(all, ({ userId }) => userId)
  const [wanted, found] = [idsOf(first), idsOf(replayed)]
  for (const [userId, own] of wanted) {
    const again = found.get(userId) ?? []
    if (own.map(({ id }) => id).join() !== again.map(({ id }) => id).join())
      faults.push(`Of ${userId}, ${again.length} webhooks came instead of ${own.length}, or in another order.`)
  }
}

function lineOf(name: string, count: number, figures: Omit<Figures<unknown>, 'result'>, beside: string): string {
  const { seconds, dispatcherCpu, postgresCpu, dispatcherMb } = figures
  const perWebhook = [dispatcherCpu, postgresCpu].map((cpuSeconds) => (cpuSeconds * 1e6) / count)
  const numbers = [seconds, count / seconds, ...perWebhook, dispatcherMb]
  return `| ${[name, ...numbers.map((value) => Math.round(value).toLocaleString('en')), beside].join(' | ')} |`
}

function percentiles(ages: readonly number[]): string {
  return [50, 99].map((percent) => Math.round(percentile(ages, percent))).join(' · ')
}
