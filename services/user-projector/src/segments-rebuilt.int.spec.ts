import type { EventTracked, SegmentFact, UserFact } from '@nextvisit/contracts'
import { countsForOf, FACTS_ARRIVE_WITHIN_MS } from '@nextvisit/domain'
import { eventTracked, identifyRequested, userIdFixture } from '@nextvisit/contracts/fixtures'
import { raw } from '@nextvisit/database'
import { readPropertySettings } from '@nextvisit/testing'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { catalogOf, givenProjector, readAllRows } from '../test/given-projector.ts'
import { userProjector } from './consumer.ts'
import { readSegmentMembers } from './queries.ts'

const settings = readPropertySettings(12)
const MINUTE = 60_000
/** Long ago: a replay settles nothing that is not due yet. */
const START = Date.parse('2025-11-02T08:00:00.000Z')
const isoAt = (ms: number) => new Date(START + ms).toISOString()

const turn = {
  catalog: catalogOf([
    { id: 'busy', where: { event: 'Checkout Completed', atLeast: 2, within: '30m' } },
    { id: 'quiet', where: { event: 'Checkout Completed', exactly: 0, within: '10m' } },
    { id: 'recent', where: { trait: 'joined', after: '-20m' } },
    { id: 'calm', where: { all: [{ segment: 'quiet' }, { not: { segment: 'recent' } }] } },
    {
      id: 'large',
      where: { event: 'checkout_completed', atLeast: 2, within: '25m', where: { property: 'total', is: 100 } },
    },
  ]),
}

/** Whole minutes and a little more or less: now and then two things meet at an instant. */
const duration = (min: number, max: number) =>
  fc
    .tuple(fc.integer({ min, max }), fc.constantFrom(0, 0, 0, 1, 50, 900, -50, -900))
    .map(([minutes, ms]) => minutes * MINUTE + ms)

/** A step of the story after a pause: an identify, an event that occurred `ago` before, or a tick. In ms. */
interface Step {
  readonly after: number
  readonly kind: 'identify' | 'event' | 'tick'
  readonly userName: string
  readonly ago: number
  /** A property of the event. */
  readonly total: number
  /** How long the fact was on its way to the log. */
  readonly late: number
  /** Where the batch ends. */
  readonly isLast: boolean
}

const steps = fc.array(
  fc.record<Step>({
    after: duration(0, 9).map((ms) => Math.max(0, ms)),
    kind: fc.constantFrom('identify', 'event', 'event', 'tick'),
    userName: fc.constantFrom('ada', 'bob'),
    ago: duration(-4, 40),
    total: fc.constantFrom(1, 100, 100),
    late: fc.constantFrom(0, 0, 30, 1_000),
    isLast: fc.boolean(),
  }),
  { minLength: 4, maxLength: 14 },
)

interface Told {
  readonly now: number
  readonly isTick: boolean
  readonly isLast: boolean
  readonly fact: UserFact
  readonly happened: Pick<Step, 'kind' | 'userName' | 'total'> & { readonly at: number }
}

/** As a gateway writes it. */
function withCounts(fact: EventTracked): EventTracked {
  const config = turn.catalog.project('acme', 'shop')?.config
  return { ...fact, ...(config && countsForOf(config, fact)) }
}

/** Steps as a story: time goes on. */
function tell(story: readonly Step[]): Told[] {
  let now = 0
  return story.map(({ after, kind, userName, ago, total, late, isLast }) => {
    now += after
    const at = now - ago
    const common = { userName, received: isoAt(now - late) }
    const fact =
      kind === 'identify'
        ? identifyRequested({ ...common, operations: { set: { joined: isoAt(at) } } })
        : withCounts(eventTracked({ ...common, occurredAt: isoAt(at), properties: { total } }))
    return { now, isTick: kind === 'tick', isLast, fact, happened: { kind, userName, total, at } }
  })
}

/** As naive as can be: who is in which segment at an instant. */
function naiveMembers(told: readonly Told[], now: number): Record<string, string[]> {
  const users = ['ada', 'bob'].flatMap((userName) => {
    const own = told.map(({ happened }) => happened).filter((one) => one.userName === userName)
    const joined = own.findLast(({ kind }) => kind === 'identify')?.at
    const within = (window: number) =>
      own.filter(({ kind, at }) => kind === 'event' && at > now - window * MINUTE && at <= now)
    if (joined === undefined) return []
    const [isQuiet, isRecent] = [within(10).length === 0, joined > now - 20 * MINUTE]
    const isLarge = within(25).filter(({ total }) => total === 100).length >= 2
    return { userName, isBusy: within(30).length >= 2, isLarge, isQuiet, isRecent, isCalm: isQuiet && !isRecent }
  })
  const namesOf = (isIn: (user: (typeof users)[number]) => boolean) =>
    users.filter(isIn).map(({ userName }) => userName)
  return {
    busy: namesOf((user) => user.isBusy),
    quiet: namesOf((user) => user.isQuiet),
    recent: namesOf((user) => user.isRecent),
    calm: namesOf((user) => user.isCalm),
    large: namesOf((user) => user.isLarge),
  }
}

/** Reads changed memberships as a customer does: repeats are dropped by id, and a user only enters and leaves in turn. */
function membersIn(published: readonly SegmentFact[]): Record<string, string[]> {
  const members = new Map(['busy', 'quiet', 'recent', 'calm', 'large'].map((id) => [id, new Set<string>()]))
  const names = new Map(['ada', 'bob'].map((userName) => [userIdFixture(userName), userName]))
  for (const { type, segmentId, userId } of new Map(published.map((fact) => [fact.id, fact])).values()) {
    const [users, name] = [members.get(segmentId), String(names.get(userId))]
    expect(users?.has(name)).toBe(type === 'SegmentLeft')
    if (type === 'SegmentEntered') users?.add(name)
    else users?.delete(name)
  }
  return Object.fromEntries(Array.from(members, ([id, users]) => [id, [...users].toSorted()]))
}

/** The offset of a change by time depends on when it is noticed. Nothing else does, nor does the order of a user's changes. */
function withoutPlaces(published: readonly SegmentFact[]): unknown {
  const changes = published.map((change) => ({ ...change, causeOffset: 0 }))
  return Object.fromEntries(Map.groupBy(changes, ({ userId, segmentId }) => `${userId}/${segmentId}`))
}

describe('live and rebuilt segments', () => {
  let given: Awaited<ReturnType<typeof givenProjector>>
  beforeAll(async () => {
    given = await givenProjector(inject('databaseUrl'))
  })
  afterAll(() => given?.stop())

  const members = async (): Promise<Record<string, string[]>> => {
    const ids = ['busy', 'quiet', 'recent', 'calm', 'large']
    const place = { organization: 'acme', project: 'shop', limit: 10 }
    const pages = await Promise.all(ids.map((segmentId) => readSegmentMembers(given.prisma, { ...place, segmentId })))
    return Object.fromEntries(
      pages.map(({ users }, index) => [ids[index], users.map(({ userName }) => userName).toSorted()]),
    )
  }

  /** Reads the instant to which a replay brings the rebuilt rows. */
  const readSettledUntil = async (): Promise<Date | undefined> => {
    const [settled] = await given.prisma.$queryRaw<{ instant: Date }[]>(
      raw(userProjector.settledUntil?.('users') ?? ''),
    )
    return settled?.instant
  }

  it('are equal however often ticks ran, equal a naive computation, and are what the published changes say', {
    timeout: settings.withinMs,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(steps, duration(0, 45), async (story, later) => {
        const told = tell(story)
        const facts = told.filter(({ isTick }) => !isTick).map(({ fact }) => fact)
        const end = (told.at(-1)?.now ?? 0) + Math.max(0, later)
        await given.clear()
        let batch: UserFact[] = []
        for (const { isTick, isLast, fact, now } of told) {
          if (!isTick) batch.push(fact)
          if (batch.length > 0 && (isTick || isLast)) await given.fold(turn, ...batch.splice(0))
          if (isTick) await given.settle(turn, isoAt(now))
        }
        if (batch.length > 0) await given.fold(turn, ...batch)
        batch = []
        await given.settle(turn, isoAt(end + FACTS_ARRIVE_WITHIN_MS))
        const live = await readAllRows(given.prisma)
        const settledUntil = await readSettledUntil()
        const naive = naiveMembers(
          told.filter(({ isTick }) => !isTick),
          end,
        )
        expect(await members()).toEqual(naive)
        const published = await given.takePublished()
        expect(membersIn(published)).toEqual(naive)
        // The outbox may publish its rows twice.
        expect(membersIn([...published, ...published])).toEqual(naive)
        await given.clear()
        if (facts.length > 0) await given.rebuild(turn, ...facts)
        if (settledUntil) await given.settle({ ...turn, mode: 'rebuild' }, settledUntil.toISOString())
        expect(await readAllRows(given.prisma)).toEqual(live)
        expect(await given.takePublished()).toEqual([])
        await given.clear()
        if (facts.length > 0) await given.fold(turn, ...facts)
        await given.settle(turn, isoAt(end + FACTS_ARRIVE_WITHIN_MS))
        expect(withoutPlaces(await given.takePublished())).toEqual(withoutPlaces(published))
      }),
      { ...settings.replay, numRuns: settings.runs },
    )
  })

  it('are equal if a replay runs between two changes', async () => {
    await given.clear()
    const facts = ['ada', 'bob'].flatMap((userName, index) => [
      identifyRequested({ userName, received: isoAt(0), operations: {} }),
      eventTracked({ userName, received: isoAt(3_000), occurredAt: isoAt(index * 3_000) }),
    ])
    await given.fold(turn, ...facts)
    await given.settle(turn, isoAt(10 * MINUTE + 1_000 + FACTS_ARRIVE_WITHIN_MS))
    expect(await members()).toMatchObject({ quiet: ['ada'] })
    const live = await readAllRows(given.prisma)
    const settledUntil = await readSettledUntil()
    await given.clear()
    await given.rebuild(turn, ...facts)
    await given.settle({ ...turn, mode: 'rebuild' }, String(settledUntil?.toISOString()))
    expect(await readAllRows(given.prisma)).toEqual(live)
  })
})
