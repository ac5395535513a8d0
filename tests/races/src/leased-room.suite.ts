import { eventually, readTopic, type TopicRecord } from '@nextvisit/testing/black-box'
import { describe, expect, it } from 'vitest'
import { type Call, callersOf, keyOf } from './caller.ts'
import type { RaceStack } from './race-stack.ts'

const ORGANIZATION = 'leased'
const ROOM = 2_000
const USERS = 24
const CALLERS = 80
const REFUSED_IN_THE_END = 400
/** A hundredth of the room. A busy machine may answer some checks after their deadline. */
const UNCHECKED_AT_MOST = ROOM / 100
const KEY = keyOf(ORGANIZATION)

/** The organization that uses leases. */
export const LEASED = { id: ORGANIZATION, plan: { eventsPerMonth: ROOM } }

const nameOf = (sequence: number) => `user-${sequence % USERS}`
const isIdentified = ({ status }: Call) => status === 200
const isOwnEvent = (value: TopicRecord['value']) =>
  value['organization'] === ORGANIZATION && value['type'] === 'EventTracked'

const isUnchecked = (value: TopicRecord['value']) => (value['unchecked'] as readonly string[]).length > 0

/** Tests leases in the stack of the races, after the races. */
export function describeLeasedRoom(stackOf: () => RaceStack): void {
  describe(`a busy organization with room for ${ROOM} events, over two gateways and two processes of metering (decision 0017)`, () => {
    it('accepts exactly as many checked events as there is room for, some of them from leases, and counts each', {
      timeout: 240_000,
    }, async ({ signal }) => {
      const { gatewayUrls, gatewayUrl, brokers } = stackOf()
      const callerOf = callersOf(gatewayUrls, ORGANIZATION)
      for (let user = 0; user < USERS; user += 1)
        await eventually(() => callerOf(user)('identify-user', { userName: nameOf(user) }), isIdentified, 30_000)

      const calls: Call[] = []
      const sentAfterRefusal = new Set<Call>()
      let [sent, refused] = [0, 0]
      const keepTracking = async () => {
        // Some more at the end, to use any room that is left.
        while (refused < REFUSED_IN_THE_END && !signal.aborted) {
          const isAfterRefusal = refused > 0
          const sequence = sent++
          const call = await callerOf(sequence)('track-event', { userName: nameOf(sequence), eventName: 'Raced' })
          calls.push(call)
          if (isAfterRefusal) sentAfterRefusal.add(call)
          if (call.status === 402) refused += 1
        }
      }
      await Promise.all(Array.from({ length: CALLERS }, keepTracking))
      const passed = calls.filter(({ status }) => status === 202)

      const records = await readTopic(brokers, 'user-events')
      const tracked = new Map(
        records.flatMap(({ value }) => (isOwnEvent(value) ? [[value['id'], value] as const] : [])),
      )
      // A check that is not made within the budget is skipped. Its record passes in addition, unless it is counted before the limit is reached.
      const unchecked = new Set([...tracked].flatMap(([id, value]) => (isUnchecked(value) ? id : [])))
      expect(unchecked.size).toBeLessThanOrEqual(UNCHECKED_AT_MOST)
      expect(tracked.size).toBeGreaterThanOrEqual(ROOM)
      expect(tracked.size).toBeLessThanOrEqual(ROOM + unchecked.size)
      expect(passed.filter(({ requestId }) => !tracked.has(requestId))).toEqual([])
      // No request was refused while there was room: a later request would have got it. Requests that were not recorded
      // (503) released their room, perhaps after others had waited for it in vain.
      const notRecorded = calls.filter(({ status }) => status !== 202 && status !== 402)
      const late = passed.filter((call) => sentAfterRefusal.has(call) && !unchecked.has(call.requestId))
      expect(late.length).toBeLessThanOrEqual(notRecorded.length)
      const leased = [...tracked.values()].filter((value) => value['lease'] !== undefined)
      expect(leased.length).toBeGreaterThan(0)
      console.log(
        `${leased.length} of ${ROOM} events used a lease; ${late.length} arrived late, ${notRecorded.length} were not recorded, ${unchecked.size} were not checked`,
      )
      expect(
        await eventually(
          () => readCount(gatewayUrl),
          (count) => count === tracked.size,
          40_000,
        ),
      ).toBe(tracked.size)
    })
  })
}

async function readCount(gatewayUrl: string): Promise<number> {
  const response = await fetch(`${gatewayUrl}/v2/admin/usage`, { headers: { 'x-api-key': KEY } })
  const { events } = (await response.json()) as { events?: { count: number } }
  return events?.count ?? -1
}
