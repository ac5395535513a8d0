import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { readOrganizationConfig } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, userIdFixture } from '@nextvisit/contracts/fixtures'
import { compileSegments, FACTS_ARRIVE_WITHIN_MS } from '@nextvisit/domain'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { catalogOf, givenProjector, readAllRows, type Turn, type WrittenSegment } from '../test/given-projector.ts'
import { readSegmentMembers, readSegments, readUser } from './queries.ts'

const shop = { organization: 'acme', project: 'shop' }
const paying = { id: 'paying', where: { trait: 'plan', is: 'pro' } }
const active = { id: 'active', where: { event: 'Checkout Completed', atLeast: 1, within: '1h' } }
const lost = { id: 'lost', where: { all: [{ segment: 'paying' }, { not: { segment: 'active' } }] } }

/** `08:00` → an instant of the story's day. */
const at = (time: string) => `2026-11-02T${time}${time.length === 5 ? ':00.000' : ''}Z`
/** Returns the instant of the tick that settles an instant. */
const past = (instant: string) => new Date(Date.parse(instant) + FACTS_ARRIVE_WITHIN_MS).toISOString()
const plan = (name: string, userName = 'ada') => ({ userName, operations: { set: { plan: name } } })

let given: Awaited<ReturnType<typeof givenProjector>>
beforeAll(async () => {
  given = await givenProjector(inject('databaseUrl'))
})
afterAll(() => given?.stop())
beforeEach(() => given.clear())

/** Reads the members of segments, and since when they are members. */
async function membersOf(segmentId: string): Promise<string[]> {
  const { users } = await readSegmentMembers(given.prisma, { ...shop, segmentId, limit: 1_000 })
  return users.map(({ userName, since }) => `${userName} ${since.slice(11, 16)}`).toSorted()
}

/** `members (computed/total)` of each segment. */
async function countsOf({ catalog }: Turn): Promise<Record<string, string>> {
  const config = catalog.project('acme', 'shop')?.config
  const segments = config ? compileSegments(config).segments : []
  const asked = segments.map(({ id, fingerprint }) => ({ id, fingerprint }))
  const answer = await readSegments(given.prisma, { ...shop, segments: asked })
  return Object.fromEntries(
    answer.segments.map(({ members, usersComputed }, index) => [
      segments[index]?.id,
      `${members} (${usersComputed}/${answer.usersTotal})`,
    ]),
  )
}

const segmentsOfUser = async (userName: string) =>
  (await readUser(given.prisma, { ...shop, userId: userIdFixture(userName) }))?.segments

function turn(...segments: readonly WrittenSegment[]): Turn {
  return { catalog: catalogOf(segments) }
}

/** A process that reads the catalog's record with this segment, as far as it understands it. */
function readAs(where: object): Turn {
  const projects = [{ id: 'shop', segments: [{ id: 'paying', where }] }]
  const reading = readOrganizationConfig({ id: 'acme', projects })
  return { catalog: staticCatalog(reading.outcome === 'read' ? [reading.config] : []) }
}

describe('the membership of a segment', () => {
  it('follows every identify', async () => {
    const now = turn(paying)
    await given.fold(now, identifyRequested({ ...plan('free'), received: at('08:00') }))
    expect(await segmentsOfUser('ada')).toEqual([])
    await given.fold(now, identifyRequested({ ...plan('pro'), received: at('09:00') }))
    await given.fold(now, identifyRequested({ ...plan('pro'), received: at('10:00') }))
    expect(await membersOf('paying')).toEqual(['ada 09:00'])
    expect(await countsOf(now)).toEqual({ paying: '1 (1/1)' })
    await given.fold(now, identifyRequested({ ...plan('free'), received: at('11:00') }))
    expect(await membersOf('paying')).toEqual([])
    expect(await countsOf(now)).toEqual({ paying: '0 (1/1)' })
  })

  it('follows every event, including old ones and those before the first identify', async () => {
    const often = { id: 'often', where: { event: 'checkout_completed', atLeast: 2 } }
    const now = turn(often)
    await given.fold(now, eventTracked({ received: at('08:00') }))
    await given.fold(now, identifyRequested({ received: at('08:30') }))
    expect(await segmentsOfUser('ada')).toEqual([])
    await given.fold(
      now,
      eventTracked({ received: at('09:00'), occurredAt: '2026-01-05T00:00:00.000Z', evaluateTriggers: false }),
    )
    expect(await membersOf('often')).toEqual(['ada 09:00'])
  })

  it('includes no user without an identify', async () => {
    const now = turn(active)
    await given.fold(now, eventTracked({ received: at('08:00') }))
    expect(await countsOf(now)).toEqual({ active: '0 (0/0)' })
    await given.fold(now, identifyRequested({ received: at('08:30') }))
    expect(await membersOf('active')).toEqual(['ada 08:30'])
  })

  it('follows the segments that a segment names', async () => {
    const now = turn(paying, active, lost)
    await given.fold(now, identifyRequested({ ...plan('pro'), received: at('08:00') }))
    expect(await segmentsOfUser('ada')).toEqual(['lost', 'paying'])
    await given.fold(now, eventTracked({ received: at('08:10') }))
    expect(await segmentsOfUser('ada')).toEqual(['active', 'paying'])
  })

  it('keeps an ended membership ended after a late fact', async () => {
    const now = turn(active)
    await given.fold(now, identifyRequested({ received: at('08:00') }), eventTracked({ received: at('08:00') }))
    await given.tick(now, past(at('09:00')))
    await given.fold(now, identifyRequested({ received: at('08:30') }))
    expect(await membersOf('active')).toEqual([])
  })
})

describe('time alone', () => {
  it('moves a user when a window closes behind an event, and another when it opens', async () => {
    const now = turn(paying, active, lost)
    await given.fold(
      now,
      identifyRequested({ ...plan('pro'), received: at('08:00') }),
      eventTracked({ received: at('08:00'), occurredAt: at('08:04') }),
    )
    expect(await segmentsOfUser('ada')).toEqual(['lost', 'paying'])
    expect(await given.settle(now, past(at('08:03')))).toBe(0)
    expect(await given.settle(now, past(at('08:05')))).toBe(1)
    expect(await membersOf('active')).toEqual(['ada 08:04'])
    expect(await given.settle(now, past(at('09:03')))).toBe(0)
    expect(await given.settle(now, past(at('09:04')))).toBe(1)
    expect(await membersOf('active')).toEqual([])
    expect(await membersOf('lost')).toEqual(['ada 09:04'])
    expect(await countsOf(now)).toEqual({ paying: '1 (1/1)', active: '0 (1/1)', lost: '1 (1/1)' })
    expect(await given.settle(now, past(at('23:59')))).toBe(0)
  })

  it('moves a user by the age of a date', async () => {
    const recent = { id: 'recent', where: { trait: 'joined', after: '-1d' } }
    const now = turn(recent)
    await given.fold(now, identifyRequested({ received: at('08:00'), operations: { set: { joined: '2026-11-02' } } }))
    expect(await segmentsOfUser('ada')).toEqual(['recent'])
    expect(await given.settle(now, past('2026-11-02T23:59:59.999Z'))).toBe(0)
    await given.settle(now, past('2026-11-03T00:00:00.000Z'))
    expect(await segmentsOfUser('ada')).toEqual([])
  })

  it('is applied by the next fact, each change as of its own moment', async () => {
    const now = turn(active, { id: 'idle', where: { not: { segment: 'active' } } })
    await given.fold(now, identifyRequested({ received: at('08:00') }), eventTracked({ received: at('08:00') }))
    await given.fold(now, identifyRequested({ received: at('12:00') }))
    expect(await membersOf('idle')).toEqual(['ada 09:00'])
  })

  it('moves no user past a fact in flight', async () => {
    const now = turn(active)
    await given.fold(now, identifyRequested({ received: at('08:00') }), eventTracked({ received: at('08:00') }))
    expect(await given.settle(now, at('09:00:00.005'))).toBe(0)
    await given.fold(now, eventTracked({ received: at('08:59:59.950') }))
    expect(await given.settle(now, past(at('09:30')))).toBe(0)
    expect(await membersOf('active')).toEqual(['ada 08:00'])
  })

  it('moves many users in several ticks', async () => {
    const now = turn(active)
    const names = Array.from({ length: 2_300 }, (_, index) => `user-${index}`)
    await given.fold(now, ...names.map((userName) => identifyRequested({ userName, received: at('08:00') })))
    await given.fold(now, ...names.map((userName) => eventTracked({ userName, received: at('08:00') })))
    expect(await countsOf(now)).toEqual({ active: '2300 (2300/2300)' })
    expect(await given.settle(now, past(at('09:00')))).toBe(3)
    expect(await countsOf(now)).toEqual({ active: '0 (2300/2300)' })
  })
})

describe('a catalog that changes', () => {
  const names = Array.from({ length: 1_500 }, (_, index) => `user-${index}`)
  const joinAll = async (now: Turn) => {
    const facts = names.map((name, index) => identifyRequested({ ...plan(index % 3 === 0 ? 'pro' : 'free', name) }))
    await given.fold(now, ...facts.slice(0, 1_000))
    await given.fold(now, ...facts.slice(1_000))
    await given.fold(now, ...names.slice(0, 600).map((userName) => eventTracked({ userName, received: at('10:30') })))
  }

  it('computes a new segment for all users, with its progress', async () => {
    await joinAll({ catalog: catalogOf([]) })
    const now = { catalog: catalogOf([paying, active], 2) }
    expect(await countsOf(now)).toEqual({ paying: '0 (0/1500)', active: '0 (0/1500)' })
    await given.tick(now, past(at('11:00')))
    expect((await countsOf(now))['paying']).toMatch(/ \(1000\/1500\)$/)
    expect(await given.settle(now, past(at('11:00')))).toBe(1)
    expect(await countsOf(now)).toEqual({ paying: '500 (1500/1500)', active: '600 (1500/1500)' })
    expect(await segmentsOfUser('user-0')).toEqual(['active', 'paying'])
    expect(await given.settle(now, past(at('11:31')))).toBe(1)
    expect(await countsOf(now)).toEqual({ paying: '500 (1500/1500)', active: '0 (1500/1500)' })
  })

  it('recomputes a changed segment and those that name it, while the others keep their progress', async () => {
    await joinAll({ catalog: catalogOf([paying, active, lost]) })
    const now = { catalog: catalogOf([paying, { ...active, where: { ...active.where, within: '15m' } }, lost], 2) }
    expect(await countsOf(now)).toEqual({ paying: '500 (1500/1500)', active: '600 (0/1500)', lost: '300 (0/1500)' })
    await given.settle(now, past(at('10:50')))
    expect(await countsOf(now)).toEqual({ paying: '500 (1500/1500)', active: '0 (1500/1500)', lost: '500 (1500/1500)' })
  })

  it('deletes a removed segment, also of a removed project', async () => {
    await joinAll(turn(paying, active))
    await given.settle({ catalog: catalogOf([active], 2) }, past(at('10:40')))
    expect(await membersOf('paying')).toEqual([])
    expect(await countsOf({ catalog: catalogOf([active], 2) })).toEqual({ active: '600 (1500/1500)' })
    await given.settle({ catalog: catalogOf(undefined, 3) }, past(at('10:41')))
    expect(await given.prisma.segmentMember.count()).toBe(0)
    expect(await given.prisma.segmentCount.count()).toBe(0)
    expect(await given.prisma.segmentProgress.findMany()).toMatchObject([{ definitions: '', users: 1_500n }])
  })

  it('applies to every fact from then on, while users are recomputed: nothing is lost or counted twice', async () => {
    await joinAll(turn(paying))
    const now = { catalog: catalogOf([{ ...paying, where: { trait: 'plan', in: ['pro', 'team'] } }, active], 2) }
    await given.fold(now, identifyRequested({ ...plan('team', 'user-1'), received: at('10:40') }))
    expect(await segmentsOfUser('user-1')).toEqual(['active', 'paying'])
    expect(await countsOf(now)).toEqual({ paying: '501 (1/1500)', active: '1 (1/1500)' })
    await given.tick(now, past(at('10:41')))
    await given.fold(
      now,
      identifyRequested({ ...plan('team', 'new'), received: at('10:42') }),
      ...names.slice(0, 100).map((userName) => identifyRequested({ ...plan('free', userName), received: at('10:42') })),
    )
    await given.settle(now, past(at('10:43')))
    // Of the first 100, 34 were pro and one was team.
    expect(await countsOf(now)).toEqual({ paying: '467 (1501/1501)', active: '600 (1501/1501)' })
    expect(await membersOf('paying')).toHaveLength(467)
  })

  it('undoes nothing if it is older than the catalog with which users were computed', async () => {
    await joinAll({ catalog: catalogOf([paying], 1) })
    await given.settle({ catalog: catalogOf([active], 2) }, past(at('10:40')))
    const rows = await readAllRows(given.prisma)
    expect(await given.settle({ catalog: catalogOf([paying], 1) }, past(at('10:41')))).toBe(0)
    expect(await readAllRows(given.prisma)).toEqual(rows)
  })

  it.each([
    { what: 'other segments', segments: [active] },
    { what: 'none', segments: [] },
    { what: 'no such project', segments: undefined },
  ])('makes facts wait while it is older and has $what', async ({ segments }) => {
    const now = { catalog: catalogOf([paying, active], 2) }
    await given.fold(now, identifyRequested({ ...plan('pro'), received: at('08:00') }))
    const rows = await readAllRows(given.prisma)
    const fact = eventTracked({ received: at('08:30') })
    await expect(given.fold({ catalog: catalogOf(segments, 1) }, fact)).rejects.toMatchObject({
      code: 'CATALOG_BEHIND',
      retryable: true,
    })
    expect(await readAllRows(given.prisma)).toEqual(rows)
    await given.fold(now, fact)
    expect(await membersOf('paying')).toEqual(['ada 08:00'])
    expect(await membersOf('active')).toEqual(['ada 08:30'])
  })

  it('misses no fact if a segment is removed for a while and no user is recomputed meanwhile', async () => {
    await given.fold({ catalog: catalogOf([active], 1) }, identifyRequested({ received: at('08:00') }))
    await given.fold({ catalog: catalogOf([], 2) }, eventTracked({ received: at('08:30') }))
    await given.settle({ catalog: catalogOf([active], 3) }, past(at('08:40')))
    expect(await membersOf('active')).toEqual(['ada 08:40'])
  })

  it('delays no due user, however many users wait to be recomputed', async () => {
    const byId = Array.from({ length: 2_000 }, (_, index) => `user-${index}`).toSorted((one, other) =>
      userIdFixture(one).localeCompare(userIdFixture(other)),
    )
    const before = { catalog: catalogOf([active], 1) }
    await given.fold(before, ...byId.map((userName) => identifyRequested({ userName, received: at('08:00') })))
    // By their ids, the users who are recomputed last are the users who are due first.
    await given.fold(before, ...byId.slice(1_000).map((userName) => eventTracked({ userName, received: at('08:00') })))
    const now = { catalog: catalogOf([active, paying], 2) }
    await given.fold(now, identifyRequested({ received: at('08:00') }), eventTracked({ received: at('08:10') }))
    await given.tick(now, past(at('09:20')))
    expect(await membersOf('active')).toEqual(['ada 08:10'])
    await given.tick(now, past(at('09:20')))
    expect(await membersOf('active')).toEqual([])
  })

  it('moves the users of its own revision although others were computed with a later one', async () => {
    const now = { catalog: catalogOf([active], 1) }
    await given.fold(now, identifyRequested({ received: at('08:00') }), eventTracked({ received: at('08:10') }))
    const others = Array.from({ length: 1_000 }, (_, index) => `user-${index}`)
    const later = { catalog: catalogOf([active, paying], 2) }
    await given.fold(later, ...others.map((userName) => identifyRequested({ userName, received: at('08:00') })))
    await given.fold(later, ...others.map((userName) => eventTracked({ userName, received: at('08:00') })))
    expect(await given.tick(now, past(at('09:20')))).toBe(true)
    expect(await membersOf('active')).toHaveLength(1_000)
    expect(await given.tick(now, past(at('09:20')))).toBe(false)
    await given.settle(later, past(at('09:20')))
    expect(await membersOf('active')).toEqual([])
  })

  it('fills a segment of a later version once a process understands it, at the same revision', async () => {
    const ofEarlierVersion = readAs({ moonPhase: 'full' })
    await given.fold(ofEarlierVersion, identifyRequested({ ...plan('pro'), received: at('08:00') }))
    expect(await membersOf('paying')).toEqual([])
    await given.settle(readAs(paying.where), past(at('09:00')))
    expect(await membersOf('paying')).toEqual(['ada 09:00'])
  })
})

describe('owners of partitions', () => {
  it('count members of the same segment at the same time', async () => {
    const now = turn(paying, active)
    const partitions = [0, 1, 2, 3]
    const joinIn = async (partition: number) => {
      const owner = { ...now, partition }
      for (const half of ['a', 'b']) {
        const names = Array.from({ length: 150 }, (_, index) => `${half}${partition}-${index}`)
        await given.fold(owner, ...names.map((name) => identifyRequested(plan('pro', name))))
        await given.fold(owner, ...names.map((userName) => eventTracked({ userName, received: at('10:00') })))
      }
    }
    await Promise.all(partitions.map(joinIn))
    expect(await countsOf(now)).toEqual({ paying: '1200 (1200/1200)', active: '1200 (1200/1200)' })
    const other = { catalog: catalogOf([active, lost, paying], 2) }
    await Promise.all(partitions.map((partition) => given.settle({ ...other, partition }, past(at('11:00')))))
    expect(await countsOf(other)).toEqual({
      active: '0 (1200/1200)',
      lost: '1200 (1200/1200)',
      paying: '1200 (1200/1200)',
    })
  })

  it('write nothing after another process has taken over', async () => {
    await given.fold(turn(), identifyRequested(plan('pro')))
    const later = { catalog: catalogOf([paying], 2) }
    const instant = past(at('11:00'))
    const sleeper = await given.openFold(later)
    await given.fold(turn(), identifyRequested(plan('free')))
    const rows = await readAllRows(given.prisma)
    expect(await given.isDue(later, instant)).toBe(true)
    expect(await sleeper.tick(new Date(instant))).toEqual({ outcome: 'stale' })
    expect(await readAllRows(given.prisma)).toEqual(rows)
  })
})
