import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeLeasedRoom, LEASED } from './leased-room.suite.ts'
import { describeReplacedProcesses, REPLACED } from './replaced-processes.suite.ts'
import { waitUntilChecked } from './wait-until-checked.ts'
import { REQUESTS, FAMILIES, LIMIT } from './race-families.ts'
import { FAULTS } from './race-faults.ts'
import { type RaceStack, startRaceStack } from './race-stack.ts'
import { formatTable } from './race-table.ts'
import { keyOf } from './caller.ts'
import { raceWorkspace } from './race-workspace.ts'
import { type Race, runRace } from './run-race.ts'
import { raceErrors, recordsOf, raceResult } from './race-result.ts'
import { eventually, readTopic, readUnchecked, type TopicRecord } from '@nextvisit/testing/black-box'

/** Services drop a reservation or claim after 60 s if its record is never folded. */
const SETTLED_WITHIN_MS = 100_000

let stack: RaceStack
let records: readonly TopicRecord[] = []
/** The gateways' counters after the last restart of a gateway, and the time at which they were read. */
let countedBefore = { unchecked: 0, at: '' }
const races: Race[] = []

beforeAll(async () => {
  stack = await startRaceStack(
    raceWorkspace(
      FAULTS.map(({ id }) => id),
      FAMILIES,
      [LEASED, ...REPLACED],
    ),
  )
  await waitUntilChecked(stack)
}, 180_000)
afterAll(() => stack?.remove(), 60_000)

describe(`${REQUESTS} parallel requests at a limit with room for ${LIMIT}, over two gateways and two processes of each service`, () => {
  it.each(FAULTS)('race for every limit: $id', { timeout: 120_000 }, async (fault) => {
    const before = fault.witness?.(stack)
    const run = await runRace(stack, fault, FAMILIES)
    const hasStruck = async () => fault.witness === undefined || fault.witness(stack) !== before
    expect(await eventually(hasStruck, Boolean, 30_000), 'the fault struck').toBe(true)
    races.push(...run)
    await waitUntilChecked(stack)
    if (fault.restartsGateway)
      countedBefore = { unchecked: await readUnchecked(stack.gatewayMetrics), at: new Date().toISOString() }
    expect(run.filter(({ calls }) => calls.length < REQUESTS)).toEqual([])
  })

  // Here, because they use the minute that reservations of the races last.
  describeLeasedRoom(() => stack)
  describeReplacedProcesses(() => stack)

  it('releases all room that was reserved for unknown outcomes', {
    timeout: SETTLED_WITHIN_MS + 60_000,
  }, async () => {
    const left = await Promise.all(races.map(useUpRoom))
    expect(left.filter((count) => count < LIMIT)).toEqual([])
  })

  it('accepts exactly as many requests as there is room for, and records no refused request', async () => {
    records = await readTopic(stack.brokers, 'user-events')
    expect(races.flatMap((race) => raceErrors(race, records))).toEqual([])
  })

  it('counts exactly the units in the log, and the unchecked marks', {
    timeout: 60_000,
  }, async () => {
    const rows = await Promise.all(races.map(rowOf))
    console.log(`\n${formatTable(rows)}\n`)
    expect(rows.filter((row) => row['counted'] !== row['in log'])).toEqual([])
    const marks = records
      .filter(({ value }) => String(value['received']) > countedBefore.at)
      .flatMap(({ value }) => (value['unchecked'] as string[] | undefined) ?? [])
    expect((await readUnchecked(stack.gatewayMetrics)) - countedBefore.unchecked).toBe(marks.length)
  })

  it('registers exactly the names in the log', async () => {
    const differences = await Promise.all(
      races.map(async (race) => ({ registered: await readNames(race), inLog: namesInLog(race) })),
    )
    expect(differences.map(({ registered }) => registered)).toEqual(differences.map(({ inLog }) => inLog))
  })

  it('does not know a user that the quota refused', async () => {
    const refused = races.flatMap(({ organization, family, calls }) =>
      calls
        .filter(({ status }) => family.id === 'mau' && status === 400)
        .slice(0, 5)
        .map(({ body }) => ({ organization, userName: String(body['userName']) })),
    )
    const statuses = await Promise.all(
      refused.map(({ organization, userName }) => get(organization, `/v2/admin/users/${userName}`)),
    )
    expect(statuses.length).toBeGreaterThan(0)
    expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([404]))
  })
})

/** Reads a route. Retries while the service behind it is unavailable, and after a lost connection to a killed gateway. */
async function get(organization: string, path: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const ask = async () => {
    const response = await fetch(`${stack.gatewayUrl}${path}`, { headers: { 'x-api-key': keyOf(organization) } })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const answer = await eventually(
    () => ask().catch(() => undefined),
    (given) => given !== undefined && given.status !== 503,
    30_000,
  )
  return answer ?? ask()
}

async function readCount({ organization, family }: Race): Promise<number> {
  const { body } = await get(organization, '/v2/admin/usage')
  return (body[family.counter] as { count: number } | undefined)?.count ?? -1
}

/** Sends one request per second until the limit is reached. */
async function useUpRoom(race: Race): Promise<number> {
  return eventually(
    async () => {
      const count = await readCount(race)
      if (count < LIMIT) await race.sendNext()
      return count
    },
    (count) => count >= LIMIT,
    SETTLED_WITHIN_MS,
    1_000,
  )
}

async function rowOf(race: Race): Promise<Record<string, string | number>> {
  const { asked, passed, refused, unchecked, uncheckedUnits, unknown, inLog } = raceResult(race, records)
  const counted = await eventually(
    () => readCount(race),
    (count) => count === inLog,
    40_000,
  )
  return {
    limit: race.family.limit,
    fault: race.fault.what,
    asked,
    passed,
    refused,
    unknown,
    room: LIMIT,
    'in log': inLog,
    counted,
    overshoot: Math.max(0, counted - LIMIT),
    'unchecked units': uncheckedUnits,
    'unchecked records': unchecked,
    'slowest ms': Math.round(Math.max(...race.calls.map(({ elapsedMs }) => elapsedMs))),
  }
}

async function readNames({ organization, family }: Race): Promise<readonly string[]> {
  const kind = family.counter === 'uniqueTraits' ? 'traits' : 'events'
  const { body } = await get(organization, `/v2/admin/${kind}?limit=1000`)
  return ((body[kind] ?? []) as { slug: string }[]).map(({ slug }) => slug).toSorted()
}

function namesInLog(race: Race): readonly string[] {
  const own = recordsOf(race, records)
  const names =
    race.family.counter === 'uniqueTraits'
      ? own.flatMap(race.family.unitsOf)
      : own.flatMap((value) => (value['type'] === 'EventTracked' ? [String(value['slug'])] : []))
  return [...new Set(names)].toSorted()
}
