import type { SegmentFact } from '@nextvisit/contracts'
import { answerGiven, eventTracked, identifyRequested, userErased, userIdFixture } from '@nextvisit/contracts/fixtures'
import { FACTS_ARRIVE_WITHIN_MS } from '@nextvisit/domain'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { catalogOf, givenProjector, type WrittenSegment } from '../test/given-projector.ts'
import { MAX_CHANGES_A_COMMIT } from './segment-changes.ts'

const paying = { id: 'paying', where: { trait: 'plan', is: 'pro' } }
const trying = { id: 'trying', where: { trait: 'plan', is: 'trial' } }
const active = { id: 'active', where: { event: 'checkout_completed', atLeast: 1, within: '1h' } }
const idle = { id: 'idle', where: { not: { segment: 'active' } } }

const at = (time: string) => `2026-11-02T${time}:00.000Z`
/** Returns the instant of the tick that settles an instant. */
const past = (instant: string) => new Date(Date.parse(instant) + FACTS_ARRIVE_WITHIN_MS).toISOString()
const identify = (plan: string, time: string, special: Partial<Parameters<typeof identifyRequested>[0]> = {}) =>
  identifyRequested({ operations: { set: { plan } }, received: at(time), ...special })
const turn = (segments: readonly WrittenSegment[], revision = 1) => ({ catalog: catalogOf(segments, revision) })

let given: Awaited<ReturnType<typeof givenProjector>>
beforeAll(async () => {
  given = await givenProjector(inject('databaseUrl'))
})
afterAll(() => given?.stop())
beforeEach(() => given.clear())

function inWords({ type, segmentId, at: instant, cause, causeOffset }: SegmentFact): string {
  return `${type} ${segmentId} ${instant.slice(11, 16)} ${cause} ${causeOffset}`
}
const published = async () => (await given.takePublished()).map(inWords)

describe('changed memberships', () => {
  it('follow the record that changes them, and name it', async () => {
    const [first, second] = [identify('pro', '08:00'), identify('free', '09:00')]
    await given.fold(turn([paying], 7), first)
    const [entered] = await given.takePublished()
    expect(entered).toEqual({
      type: 'SegmentEntered',
      id: expect.any(String),
      organization: 'acme',
      project: 'shop',
      userId: first.userId,
      segmentId: 'paying',
      at: first.received,
      cause: 'record',
      causeId: first.id,
      causeOffset: 0,
      catalogRevision: 7,
    })
    await given.fold(turn([paying], 7), identify('pro', '08:30'), eventTracked(), second)
    expect(await given.takePublished()).toMatchObject([{ type: 'SegmentLeft', causeId: second.id, causeOffset: 3 }])
  })

  it('are in the order of the records, also of a user who enters, leaves and enters within a batch', async () => {
    const plans = ['pro', 'trial', 'pro'].map((plan, hour) => identify(plan, `0${hour}:00`))
    await given.fold(turn([paying, trying]), ...plans)
    expect(await published()).toEqual([
      'SegmentEntered paying 00:00 record 0',
      'SegmentLeft paying 01:00 record 1',
      'SegmentEntered trying 01:00 record 1',
      'SegmentLeft trying 02:00 record 2',
      'SegmentEntered paying 02:00 record 2',
    ])
  })

  it('follow events and answers, and the segments that a segment names', async () => {
    const happy = { id: 'happy', where: { answer: { form: 'nps', element: 'score' }, atLeast: 9 } }
    await given.fold(
      turn([active, idle, happy]),
      identify('free', '08:00'),
      answerGiven({ received: at('08:01') }),
      eventTracked({ received: at('08:02') }),
    )
    expect(await published()).toEqual([
      'SegmentEntered idle 08:00 record 0',
      'SegmentEntered happy 08:01 record 1',
      'SegmentLeft idle 08:02 record 2',
      'SegmentEntered active 08:02 record 2',
    ])
  })

  it('are none for a record without effect on segments, a repeated one, and in a project without segments', async () => {
    const keyed = identify('pro', '08:00', { keyed: true })
    await given.fold(turn([paying]), keyed)
    expect(await published()).toHaveLength(1)
    await given.fold(turn([paying]), keyed, identify('pro', '08:10'), eventTracked())
    await given.fold(turn([paying]), identify('pro', '08:20', { project: 'other' }))
    await given.settle(turn([paying]), past(at('23:00')))
    expect(await published()).toEqual([])
  })

  it('have another id if a record comes again after its repeats are counted', async () => {
    const first = identify('pro', '08:00', { keyed: true })
    const again = { ...first, received: '2026-11-04T08:00:00.000Z' }
    await given.fold(turn([paying]), first, identify('free', '09:00'), again)
    const changes = await given.takePublished()
    expect(changes.map(({ causeId }) => causeId)).toEqual([first.id, expect.any(String), first.id])
    expect(new Set(changes.map(({ id }) => id)).size).toBe(3)
  })

  it('have the exact instant at which time has changed them, by a tick or by the next record', async () => {
    const now = turn([active, idle])
    const begin = ['ada', 'bob'].map((userName) => identify('free', '08:00', { userName }))
    const active8 = ['ada', 'bob'].map((userName) =>
      eventTracked({ userName, received: at('08:00'), occurredAt: at('08:00') }),
    )
    await given.fold(now, ...begin, ...active8)
    await given.takePublished()
    await given.fold(now, identify('free', '12:00', { userName: 'bob' }))
    expect(await published()).toEqual(['SegmentLeft active 09:00 time 4', 'SegmentEntered idle 09:00 time 4'])
    await given.settle(now, past(at('12:00')))
    const byTick = await given.takePublished()
    expect(byTick.map(inWords)).toEqual(['SegmentLeft active 09:00 time 4', 'SegmentEntered idle 09:00 time 4'])
    expect(byTick[0]).toMatchObject({ userId: userIdFixture('ada'), at: at('09:00') })
    expect(byTick[0]).not.toHaveProperty('causeId')
  })

  it('follow another definition: that of a new, a changed and a removed segment, each under ids of its own', async () => {
    const names = ['ada', 'bob', 'eve']
    await given.fold(turn([]), ...names.map((userName) => identify('pro', '08:00', { userName })))
    const seen: SegmentFact[] = []
    const words = async () => {
      const changes = await given.takePublished()
      seen.push(...changes)
      return changes.map(inWords).toSorted()
    }
    await given.settle(turn([paying], 2), past(at('09:00')))
    expect(await words()).toEqual(names.map(() => 'SegmentEntered paying 09:00 definition 2'))
    await given.settle(turn([{ ...paying, where: trying.where }], 3), past(at('09:00')))
    expect(await words()).toEqual(names.map(() => 'SegmentLeft paying 09:00 definition 2'))
    await given.settle(turn([paying], 4), past(at('09:00')))
    expect(await words()).toEqual(names.map(() => 'SegmentEntered paying 09:00 definition 2'))
    await given.settle({ catalog: catalogOf(undefined, 5) }, past(at('10:00')))
    expect(await words()).toEqual(names.map(() => 'SegmentLeft paying 10:00 definition 2'))
    expect(new Set(seen.map(({ id }) => id)).size).toBe(4 * names.length)
  })

  it('tell what another definition has changed from what the next record of the user changes', async () => {
    await given.fold(turn([paying]), identify('free', '08:00'))
    await given.fold(turn([paying, trying, idle], 2), identify('trial', '09:00'))
    expect(await published()).toEqual([
      'SegmentEntered idle 09:00 definition 1',
      'SegmentEntered trying 09:00 record 1',
    ])
  })

  it('end without a record in an erasure, which also covers those before it', async () => {
    const erasure = userErased({ received: at('09:00') })
    await given.fold(turn([paying]), identify('pro', '08:00'), identify('pro', '08:00', { userName: 'bob' }), erasure)
    await given.settle(turn([paying]), past(at('10:00')))
    expect((await given.takePublished()).map(({ userId }) => userId)).toEqual([userIdFixture('bob')])
    await given.fold(turn([paying]), identify('pro', '10:00'))
    expect(await published()).toEqual(['SegmentEntered paying 10:00 record 3'])
  })

  it('of a tick have an earlier place than an erasure that follows, and a later one than an erasure before', async () => {
    await given.fold(turn([]), identify('pro', '08:00'))
    await given.settle(turn([paying], 2), past(at('08:30')))
    const erasure = userErased({ received: at('09:00') })
    const { nextOffset } = (await given.openFold(turn([paying], 2))).checkpoint()
    await given.fold(turn([paying], 2), erasure)
    await given.fold(turn([paying], 2), identify('pro', '10:00'))
    await given.settle(turn([], 3), past(at('11:00')))
    const places = (await given.takePublished()).map(({ causeOffset }) => BigInt(causeOffset) < nextOffset)
    expect(places).toEqual([true, false, false])
  })

  it('follow a dead letter that is retried, under its own offset', async () => {
    await given.setAside(turn([paying]), identify('pro', '08:00'))
    await given.fold(turn([paying]), eventTracked())
    expect(await published()).toEqual([])
    await given.retry(turn([paying]))
    expect(await published()).toEqual(['SegmentEntered paying 08:00 record 0'])
  })

  it('of many segments are published in several commits and ticks, each bounded', async () => {
    const many = Array.from({ length: 250 }, (_, nth) => ({ id: `not-${nth}`, where: { not: { country: 'DE' } } }))
    const names = Array.from({ length: 1 + Math.ceil(MAX_CHANGES_A_COMMIT / many.length) }, (_, nth) => `user-${nth}`)
    const version = async () => (await given.openFold(turn(many))).checkpoint().version
    const before = await version()
    await given.fold(turn(many), ...names.map((userName) => identify('free', '08:00', { userName })))
    expect((await version()) - before).toBeGreaterThan(1n)
    expect(await given.takePublished()).toHaveLength(names.length * many.length)
    expect(await given.settle(turn([], 2), past(at('09:00')))).toBeGreaterThan(1)
    expect(await given.takePublished()).toHaveLength(names.length * many.length)
  })

  it('are not published by a rebuild, nor by its ticks', async () => {
    const rebuilt = { ...turn([active, paying]), mode: 'rebuild' as const }
    const bought = eventTracked({ received: at('08:00'), occurredAt: at('08:00') })
    await given.rebuild(rebuilt, identify('pro', '08:00'), bought)
    expect(await given.settle(rebuilt, past(at('10:00')))).toBe(1)
    expect(await given.settle({ ...turn([], 2), mode: 'rebuild' }, past(at('10:00')))).toBe(1)
    expect(await given.takePublished()).toEqual([])
  })
})
