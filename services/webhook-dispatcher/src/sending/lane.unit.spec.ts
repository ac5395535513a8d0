import { randomUUID } from 'node:crypto'
import { LIVE_STREAM } from '@nextvisit/domain'
import { describe, expect, it } from 'vitest'
import { type Claim, createLane, shareOf } from './lane.ts'

const PARTITIONS = 12
const ROOM = 32 * 1024 * 1024
const REPLAY = randomUUID()
const CRM = { organization: 'acme', project: 'shop', endpointId: 'crm' }

/** Returns the partitions of each process, dealt in turn as the log deals them. */
function dealt(processes: number): readonly (readonly number[])[] {
  const all = Array.from({ length: PARTITIONS }, (_, partition) => partition)
  return Array.from({ length: processes }, (_, nth) => all.filter((partition) => partition % processes === nth))
}

const sharesOf = (most: number, processes: number) =>
  dealt(processes).map((partitions) => shareOf(most, partitions, PARTITIONS))
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

describe('the share of a process in the requests to an endpoint', () => {
  it.each([1, 2, 3, 4])('is one of four requests in all that a failing endpoint has, of %i processes', (processes) => {
    expect(sum(sharesOf(4, processes))).toBe(4)
  })

  it('is one request if there are more processes than requests', () => {
    expect(sharesOf(4, 6)).toEqual([1, 1, 1, 1, 1, 1])
  })

  it.each([1, 2, 3, 5, 12])('leaves none of 32 requests unused, of %i processes', (processes) => {
    expect(sum(sharesOf(32, processes))).toBe(32)
  })
})

const claimOf = (replayId: string, bodyBytes: number): Claim => ({
  turn: { ...CRM, replayId, userId: randomUUID(), partition: 0 },
  delivery: {
    deliveryId: randomUUID(),
    webhookId: randomUUID(),
    type: 'form.queued',
    body: undefined,
    bodyBytes,
    capture: [],
    round: 0,
    createdAt: new Date(0),
    traceparent: undefined,
  },
  claimedMs: 0,
})
const bytesOf = (claims: readonly (Claim | undefined)[]) => claims.map((claim) => claim?.delivery.bodyBytes)

describe('the next claim of an endpoint', () => {
  it('is a small one of a replay if the live ones are too large for the room that is left', () => {
    const lane = createLane(CRM)
    lane.allow(32)
    for (let nth = 0; nth < 4; nth += 1) lane.add(claimOf(LIVE_STREAM, 2_000_000))
    lane.add(claimOf(REPLAY, 3_000_000))
    lane.add(claimOf(REPLAY, 100))
    expect(bytesOf([1, 2, 3, 4].map(() => lane.next(ROOM)))).toEqual([2_000_000, 2_000_000, 100, undefined])
  })

  it('is none of a replay if a live one waits for room, and there is one request', () => {
    const lane = createLane(CRM)
    lane.allow(1)
    lane.add(claimOf(REPLAY, 100))
    lane.add(claimOf(LIVE_STREAM, 2_000_000))
    expect(bytesOf([lane.next(1_000_000), lane.next(ROOM)])).toEqual([undefined, 2_000_000])
  })

  it('is a live one first, and of replays in half of the requests at most', () => {
    const lane = createLane(CRM)
    lane.allow(4)
    for (let nth = 0; nth < 4; nth += 1) lane.add(claimOf(REPLAY, 1))
    lane.add(claimOf(LIVE_STREAM, 2))
    expect(bytesOf([1, 2, 3, 4].map(() => lane.next(ROOM)))).toEqual([2, 1, 1, undefined])
  })
})
