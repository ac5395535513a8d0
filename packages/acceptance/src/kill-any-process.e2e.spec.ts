import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCallerLedger, type LedgerEntry } from './caller-ledger.ts'
import { runPacedLoad } from './paced-load.ts'
import { readTopic } from './read-topic.ts'
import { compareWithLedger, type ExpectedUser, recountUsers } from './recount.ts'
import { eventually, startThrowAwayStack } from './stack.ts'

const REQUESTS_PER_SECOND = 200
const USERS = 40
const EVENTS = ['Signed In', 'Checkout Completed', 'Export Done']
const COUNTERS = ['events', 'monthlyActiveUsers', 'uniqueEvents', 'uniqueTraits']
const VICTIMS = [
  'gateway',
  'user-projector',
  'trait-registry',
  'metering',
  'form-trigger-evaluator',
  'kafka',
  'postgres',
  'redis',
] as const

let stack: Awaited<ReturnType<typeof startThrowAwayStack>>

beforeAll(async () => {
  stack = await startThrowAwayStack()
}, 180_000)
afterAll(() => stack?.remove(), 60_000)

const userName = (sequence: number) => `user-${sequence % USERS}`

async function readUser(name: string): Promise<Record<string, unknown>> {
  try {
    const response = await fetch(`${stack.gatewayUrl}/v2/admin/users/${name}`, {
      headers: { 'x-api-key': stack.keys.admin },
    })
    return (await response.json()) as Record<string, unknown>
  } catch {
    return {}
  }
}

function differences(expected: ExpectedUser, user: Readonly<Record<string, unknown>>): string[] {
  const traits = (user['traits'] ?? {}) as { visits?: number }
  const events = (user['events'] ?? {}) as Record<string, { count: number }>
  const found: string[] = []
  if ((traits.visits ?? 0) !== expected.increments) {
    found.push(`${expected.userName}: visits ${traits.visits} instead of ${expected.increments}`)
  }
  for (const [slug, count] of expected.events) {
    if (events[slug]?.count !== count)
      found.push(`${expected.userName}: ${slug} ${events[slug]?.count} instead of ${count}`)
  }
  return found
}

describe(`kill -9 of any process while ${REQUESTS_PER_SECOND} requests a second come in`, () => {
  it('loses nothing that was acknowledged and counts nothing twice', { timeout: 300_000 }, async () => {
    const ledger = createCallerLedger(stack.gatewayUrl, stack.keys.admin)
    for (let user = 0; user < USERS; user++) {
      await ledger.send('identify-user', { userName: userName(user), userAttributes: { $set: { plan: 'pro' } } })
    }

    const load = new AbortController()
    const running = runPacedLoad(REQUESTS_PER_SECOND, load.signal, (sequence) =>
      sequence % 4 === 0
        ? ledger.send('identify-user', { userName: userName(sequence), userAttributes: { $increment: { visits: 1 } } })
        : ledger.send('track-event', { userName: userName(sequence), eventName: EVENTS[sequence % EVENTS.length] }),
    )
    for (const victim of VICTIMS) {
      await sleep(1_500)
      const before = stack.processes().get(victim)?.pid
      stack.kill(victim, 'SIGKILL')
      // The witness: the process really went, and another one came.
      const after = await eventually(
        async () => stack.processes().get(victim)?.pid,
        (pid) => pid !== undefined && pid !== before,
        30_000,
      )
      expect(after, `${victim} came back as another process`).not.toBe(before)
      await eventually(isReady, (ready) => ready, 30_000)
    }
    await sleep(1_500)
    load.abort()
    await running

    const records = await readTopic(stack.brokers, 'user-events')
    const entries = ledger.entries()
    const statuses = Map.groupBy(entries, (entry) => entry.status ?? 0)
    expect([...statuses.keys()].filter((status) => ![0, 200, 202, 503].includes(status))).toEqual([])
    const acknowledged = (statuses.get(200)?.length ?? 0) + (statuses.get(202)?.length ?? 0)
    expect(acknowledged, 'the load was real').toBeGreaterThan(entries.length / 3)
    expect(compareWithLedger(entries, records)).toEqual([])

    const expected = [...recountUsers(records).values()]
    const found = await eventually(
      async () =>
        (await Promise.all(expected.map(async (user) => differences(user, await readUser(user.userName))))).flat(),
      (wrong) => wrong.length === 0,
      60_000,
    )
    expect(found).toEqual([])

    // In this run the month may change; the counters of both would have to be added then.
    const tracked = records.filter(({ value }) => value['type'] === 'EventTracked').length
    const counted = { events: tracked, monthlyActiveUsers: USERS, uniqueEvents: EVENTS.length, uniqueTraits: 2 }
    expect(await eventually(readUsage, (usage) => isDeepStrictEqual(usage, counted), 60_000)).toEqual(counted)

    // Nobody visits, so each user's form is queued once and waits, however often its event came.
    const buyers = expected.filter(({ events }) => events.has('checkout_completed')).map((user) => user.userName)
    const names = namesById(entries)
    const queued = await eventually(
      () => readQueued(names),
      (shown) => shown.length >= buyers.length,
      60_000,
    )
    expect(queued).toEqual(buyers.toSorted())
  })
})

async function readUsage(): Promise<unknown> {
  const response = await fetch(`${stack.gatewayUrl}/v2/admin/usage`, { headers: { 'x-api-key': stack.keys.admin } })
  const usage = (await response.json()) as Record<string, { count: number }>
  return Object.fromEntries(COUNTERS.map((counter) => [counter, usage[counter]?.count]))
}

/** Users by userId, as identify answered. */
function namesById(entries: readonly LedgerEntry[]): ReadonlyMap<string, string> {
  const identified = entries.filter(({ route, status }) => route === 'identify-user' && status === 200)
  return new Map(identified.map(({ answer, body }) => [String(answer['userId']), String(body['userName'])]))
}

/** One name for each change of the queue, repeats of the outbox dropped; anything but a form queued is named. */
async function readQueued(names: ReadonlyMap<string, string>): Promise<string[]> {
  const facts = new Map(
    (await readTopic(stack.brokers, 'form-events')).map(({ value }) => [String(value['id']), value]),
  )
  const shown = [...facts.values()].map(({ type, userId }) => {
    const name = names.get(String(userId)) ?? 'somebody unknown'
    return type === 'FormQueued' ? name : `${name}: ${String(type)}`
  })
  return shown.toSorted()
}

async function isReady(): Promise<boolean> {
  return fetch(`${stack.gatewayUrl}/readyz`).then(
    (response) => response.ok,
    () => false,
  )
}
