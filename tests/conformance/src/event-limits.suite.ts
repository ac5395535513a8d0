import { beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '@nextvisit/testing/black-box'
import { type ApiAnswer, callerOf, errorOf } from './call.ts'

const EXHAUSTED = errorOf(402, 'Event tracking limit reached for this organization')
const NO_ROOM = errorOf(400, 'Unique tracked events limit reached for your plan')
const old = () => new Date(Date.now() - 86_400_000).toISOString()

const areFour = ({ body }: ApiAnswer) => (body['events'] as { count: number }).count === 4

/** Tests the contract, event tracking metering and unique tracked-events cap; decisions.md, Track event. */
export function describeEventLimits(): void {
  describe('unique tracked-events cap of 3, in P only', () => {
    it('a new name over the cap gets 400 in P; known names still pass', async () => {
      const { identify, track } = callerOf('NAMES_IN_ORDER_ADMIN_P')
      await identify({ userName: 'ada' })
      for (const eventName of ['One', 'one', 'Two', 'ONE!', 'Three'])
        expect((await track({ userName: 'ada', eventName })).status).toBe(202)
      for (const eventName of ['Four', 'Five', 'Four'])
        expect(await track({ userName: 'ada', eventName })).toMatchObject(NO_ROOM)
      expect(await track({ userName: 'ada', eventName: 'Four', occurredAt: old() }), 'old events too').toMatchObject(
        NO_ROOM,
      )
      for (const eventName of ['one', 'two', 'three'])
        expect(await track({ userName: 'ada', eventName })).toMatchObject({ status: 202, body: { newEvent: false } })
      expect(await track({ userName: 'nobody', eventName: 'Four' }), '404 comes first').toMatchObject(errorOf(404))
    })

    it('names registered with a T key count toward the cap that P checks; T may exceed it', async () => {
      const p = callerOf('NAMES_BOTH_ADMIN_P')
      const t = callerOf('NAMES_BOTH_ADMIN_T')
      await p.identify({ userName: 'ada' })
      for (const eventName of ['One', 'Two', 'Three', 'Four'])
        expect(await t.track({ userName: 'ada', eventName })).toMatchObject({ status: 202, body: { newEvent: true } })
      expect(await p.track({ userName: 'ada', eventName: 'Five' })).toMatchObject(NO_ROOM)
      expect(await t.track({ userName: 'ada', eventName: 'Five' })).toMatchObject({
        status: 202,
        body: { newEvent: true },
      })
      expect(await p.track({ userName: 'ada', eventName: 'Five' })).toMatchObject({
        status: 202,
        body: { newEvent: false },
      })
    })

    it('of 40 parallel requests with 20 new names exactly 3 names pass, by admin and SDK key', async () => {
      const { identify, track, sdkTrack } = callerOf('NAMES_PARALLEL_ADMIN_P', 'NAMES_PARALLEL_SDK_P')
      await identify({ userName: 'ada' })
      const answers = await Promise.all(
        Array.from({ length: 40 }, async (_, i) => ({
          name: i % 20,
          ...(await (i < 20 ? track : sdkTrack)({ userName: 'ada', eventName: `Name ${i % 20}` })),
        })),
      )
      const passed = answers.filter(({ status }) => status === 202)
      expect(new Set(passed.map(({ name }) => name)).size).toBe(3)
      expect(passed.filter(({ body }) => body['newEvent'] === true)).toHaveLength(3)
      expect(passed).toHaveLength(6)
      for (const answer of answers.filter(({ status }) => status !== 202)) expect(answer).toMatchObject(NO_ROOM)
    })
  })

  describe("event tracking metering: 402, the organization's, P only", () => {
    it('4 events of both projects pass, by either kind of key; T is not metered; the fifth gets 402', async () => {
      const left = callerOf('LEFT_ADMIN_P', 'LEFT_SDK_P')
      const right = callerOf('RIGHT_ADMIN_P')
      const leftT = callerOf('LEFT_ADMIN_T')
      for (const { identify } of [left, right]) await identify({ userName: 'ada' })
      const event = { userName: 'ada', eventName: 'Metered' }
      // None of these counts: they are refused or of environment T.
      expect((await left.track({ ...event, userName: 'nobody' })).status).toBe(404)
      expect((await left.track({ ...event, eventName: 'off' })).status).toBe(400)
      expect((await left.track({ ...event, eventName: 'form:x' })).status).toBe(400)
      for (let i = 0; i < 6; i += 1) expect((await leftT.track(event)).status).toBe(202)
      const statuses = []
      for (const track of [left.track, right.track, left.sdkTrack, right.track, left.track])
        statuses.push((await track(event)).status)
      expect(statuses).toEqual([202, 202, 202, 202, 402])
      for (const track of [left.track, right.track, left.sdkTrack]) expect(await track(event)).toMatchObject(EXHAUSTED)
      expect(await left.track({ ...event, occurredAt: old() }), 'old events too').toMatchObject(EXHAUSTED)
      expect((await leftT.track(event)).status).toBe(202)
      // The order of policy checks: 404, disabled, metering.
      expect(await left.track({ ...event, userName: 'nobody' })).toMatchObject(errorOf(404))
      expect(await left.track({ ...event, eventName: 'off' })).toMatchObject(errorOf(400))
      expect((await eventually(() => right.get('/v2/admin/usage'), areFour, 10_000)).body['events']).toEqual({
        count: 4,
        limit: 4,
      })
    })

    it('of 50 parallel requests exactly 20 pass', async () => {
      const { identify, track } = callerOf('RACE_ADMIN_P')
      await identify({ userName: 'ada' })
      const answers = await Promise.all(Array.from({ length: 50 }, () => track({ userName: 'ada', eventName: 'Race' })))
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(20)
      for (const answer of answers.filter(({ status }) => status !== 202)) expect(answer).toMatchObject(EXHAUSTED)
      expect(await track({ userName: 'ada', eventName: 'Race' })).toMatchObject(EXHAUSTED)
    })
  })

  it('a limit of 0 refuses everything: 402 in P, and a refused request registers no name', async () => {
    const p = callerOf('NO_EVENTS_ADMIN_P')
    const t = callerOf('NO_EVENTS_ADMIN_T')
    await p.identify({ userName: 'ada' })
    const event = { userName: 'ada', eventName: 'Zero' }
    expect(await p.track(event)).toMatchObject(EXHAUSTED)
    expect(await t.track(event)).toMatchObject({ status: 202, body: { newEvent: true } })
    expect(await p.track(event)).toMatchObject(EXHAUSTED)
  })

  describe('both limits: 3 events, 1 name', () => {
    const { identify, track } = callerOf('ROOM_ADMIN_P')
    beforeAll(async () => void (await identify({ userName: 'ada' })))

    it('a request refused by the cap on names uses up no event', async () => {
      expect((await track({ userName: 'ada', eventName: 'Known' })).status).toBe(202)
      for (let i = 0; i < 5; i += 1) {
        expect(await track({ userName: 'ada', eventName: `Other ${i}` })).toMatchObject(NO_ROOM)
      }
      expect((await track({ userName: 'ada', eventName: 'Known' })).status).toBe(202)
      expect(await track({ userName: 'ada', eventName: 'Other' })).toMatchObject(NO_ROOM)
      expect((await track({ userName: 'ada', eventName: 'Known' })).status).toBe(202)
    })

    it('metering (402) comes before the cap on names (400)', async () => {
      expect(await track({ userName: 'ada', eventName: 'Other' })).toMatchObject(EXHAUSTED)
      expect(await track({ userName: 'ada', eventName: 'Known' })).toMatchObject(EXHAUSTED)
    })
  })
}
