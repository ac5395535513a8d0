import { createHash } from 'node:crypto'
import {
  createCallerLedger,
  eventually,
  keyNamed,
  type LedgerEntry,
  readTopic,
  runPacedLoad,
} from '@nextvisit/testing/black-box'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RaceStack, startRaceStack } from './race-stack.ts'

const ROOM = 2_000
const USERS = 24
const PER_SECOND = 200
const KEY = keyNamed('LEASED_ADMIN_P')

let stack: RaceStack

beforeAll(async () => {
  const fast = { perSecond: 100_000, burst: 100_000 }
  const sha256 = createHash('sha256').update(KEY).digest('hex')
  const keys = [{ name: 'backend', kind: 'admin', environment: 'P', sha256 }]
  const projects = [{ id: 'shop', rateLimits: { admin: fast, sdk: fast }, keys }]
  stack = await startRaceStack(
    JSON.stringify({ organizations: [{ id: 'leased', plan: { eventsPerMonth: ROOM }, projects }] }),
  )
}, 180_000)
afterAll(() => stack?.remove(), 60_000)

describe(`a busy organization with room for ${ROOM} events, over two gateways and two processes of metering (docs/decisions/0017)`, () => {
  it('passes exactly as many as there is room for, most of them from leases, and counts each', {
    timeout: 240_000,
  }, async () => {
    const gateways = stack.gatewayUrls.map((url) => createCallerLedger(url, KEY))
    const through = (sequence: number) => gateways[sequence % gateways.length] as (typeof gateways)[number]
    const nameOf = (sequence: number) => `user-${sequence % USERS}`
    const isIdentified = ({ status }: LedgerEntry) => status === 200
    for (let user = 0; user < USERS; user += 1)
      await eventually(() => through(user).send('identify-user', { userName: nameOf(user) }), isIdentified, 30_000)

    const entries: (LedgerEntry & { readonly sentAfter402: boolean })[] = []
    let refused = 0
    const ended = new AbortController()
    await runPacedLoad(PER_SECOND, ended.signal, async (sequence) => {
      const sentAfter402 = refused > 0
      const entry = await through(sequence).send('track-event', { userName: nameOf(sequence), eventName: 'Raced' })
      entries.push({ ...entry, sentAfter402 })
      if (entry.status === 402) refused += 1
      // Some more, so that whatever room was left would be used.
      if (refused > 500) ended.abort()
    })
    const statuses = Map.groupBy(entries, ({ status }) => status)
    expect([...statuses.keys()].toSorted()).toEqual([202, 402])
    expect(statuses.get(202)).toHaveLength(ROOM)
    // Nobody was refused while there was room: it would have gone to somebody who came later.
    expect(entries.filter(({ status, sentAfter402 }) => status === 202 && sentAfter402)).toEqual([])

    const tracked = (await readTopic(stack.brokers, 'user-events')).filter(
      ({ value }) => value['type'] === 'EventTracked',
    )
    const passed = new Set(statuses.get(202)?.map(({ requestId }) => requestId))
    expect(tracked).toHaveLength(ROOM)
    expect(tracked.filter(({ value }) => !passed.has(String(value['id'])))).toEqual([])
    expect(tracked.filter(({ value }) => value['unchecked'] instanceof Array && value['unchecked'].length > 0)).toEqual(
      [],
    )
    const leased = tracked.filter(({ value }) => value['lease'] !== undefined)
    expect(leased.length).toBeGreaterThan(0)
    console.log(`${leased.length} of ${ROOM} events used a lease`)
    expect(await eventually(readCount, (count) => count === ROOM, 40_000)).toBe(ROOM)
  })
})

async function readCount(): Promise<number> {
  const response = await fetch(`${stack.gatewayUrl}/v2/admin/usage`, { headers: { 'x-api-key': KEY } })
  const { events } = (await response.json()) as { events?: { count: number } }
  return events?.count ?? -1
}
