import type { UserFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { readCampaign } from '@nextvisit/testing'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { catalogOf, givenProjector, readAllRows } from './given-projector.ts'
import { readSegmentMembers } from './segment-queries.ts'

const campaign = readCampaign(12)
const MINUTE = 60_000
const START = Date.parse('2026-11-02T08:00:00.000Z')
const isoAt = (minute: number) => new Date(START + minute * MINUTE).toISOString()

const turn = {
  catalog: catalogOf([
    { id: 'busy', where: { event: 'Checkout Completed', atLeast: 2, within: '30m' } },
    { id: 'quiet', where: { event: 'Checkout Completed', exactly: 0, within: '10m' } },
    { id: 'recent', where: { trait: 'joined', after: '-20m' } },
    { id: 'calm', where: { all: [{ segment: 'quiet' }, { not: { segment: 'recent' } }] } },
  ]),
}

/** What is said at a minute: who they are, or that something happened `ago` minutes before; or a tick. */
interface Step {
  readonly minutes: number
  readonly kind: 'identify' | 'event' | 'tick'
  readonly userName: string
  readonly ago: number
  /** Where the batch ends. */
  readonly isLast: boolean
}

const steps = fc.array(
  fc.record<Step>({
    minutes: fc.integer({ min: 0, max: 9 }),
    kind: fc.constantFrom('identify', 'event', 'event', 'tick'),
    userName: fc.constantFrom('ada', 'bob'),
    ago: fc.integer({ min: -4, max: 40 }),
    isLast: fc.boolean(),
  }),
  { minLength: 4, maxLength: 14 },
)

interface Told {
  readonly minute: number
  readonly isTick: boolean
  readonly isLast: boolean
  readonly fact: UserFact
  readonly happened: Pick<Step, 'kind' | 'userName'> & { readonly at: number }
}

/** Steps as a story: time goes on. */
function tell(story: readonly Step[]): Told[] {
  let minute = 0
  return story.map(({ minutes, kind, userName, ago, isLast }) => {
    minute += minutes
    const at = minute - ago
    const common = { userName, received: isoAt(minute) }
    const fact =
      kind === 'identify'
        ? identifyRequested({ ...common, operations: { set: { joined: isoAt(at) } } })
        : eventTracked({ ...common, occurredAt: isoAt(at) })
    return { minute, isTick: kind === 'tick', isLast, fact, happened: { kind, userName, at } }
  })
}

/** As naive as can be: who is in which segment at a minute. */
function naiveMembers(told: readonly Told[], now: number): Record<string, string[]> {
  const users = ['ada', 'bob'].flatMap((userName) => {
    const own = told.map(({ happened }) => happened).filter((one) => one.userName === userName)
    const joined = own.findLast(({ kind }) => kind === 'identify')?.at
    const within = (window: number) => own.filter(({ kind, at }) => kind === 'event' && at > now - window && at <= now)
    if (joined === undefined) return []
    const [isQuiet, isRecent] = [within(10).length === 0, joined > now - 20]
    return { userName, isBusy: within(30).length >= 2, isQuiet, isRecent, isCalm: isQuiet && !isRecent }
  })
  const namesOf = (isIn: (user: (typeof users)[number]) => boolean) =>
    users.filter(isIn).map(({ userName }) => userName)
  return {
    busy: namesOf((user) => user.isBusy),
    quiet: namesOf((user) => user.isQuiet),
    recent: namesOf((user) => user.isRecent),
    calm: namesOf((user) => user.isCalm),
  }
}

describe('segments, live and rebuilt', () => {
  let given: Awaited<ReturnType<typeof givenProjector>>
  beforeAll(async () => {
    given = await givenProjector(inject('databaseUrl'))
  })
  afterAll(() => given?.stop())

  const members = async (): Promise<Record<string, string[]>> => {
    const ids = ['busy', 'quiet', 'recent', 'calm']
    const place = { organization: 'acme', project: 'shop', limit: 10 }
    const pages = await Promise.all(ids.map((segmentId) => readSegmentMembers(given.prisma, { ...place, segmentId })))
    return Object.fromEntries(
      pages.map(({ users }, index) => [ids[index], users.map(({ userName }) => userName).toSorted()]),
    )
  }

  it('are the same however often ticks came, and as a naive reading has them', {
    timeout: campaign.withinMs,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 0, max: 45 }), async (story, later) => {
        const told = tell(story)
        const facts = told.filter(({ isTick }) => !isTick).map(({ fact }) => fact)
        const end = (told.at(-1)?.minute ?? 0) + later
        await given.clear()
        let batch: UserFact[] = []
        for (const { isTick, isLast, fact, minute } of told) {
          if (!isTick) batch.push(fact)
          if (batch.length > 0 && (isTick || isLast)) await given.fold(turn, ...batch.splice(0))
          if (isTick) await given.settle(turn, isoAt(minute))
        }
        if (batch.length > 0) await given.fold(turn, ...batch)
        batch = []
        await given.settle(turn, isoAt(end))
        const live = await readAllRows(given.prisma)
        expect(await members()).toEqual(
          naiveMembers(
            told.filter(({ isTick }) => !isTick),
            end,
          ),
        )
        await given.clear()
        if (facts.length > 0) await given.rebuild(turn, ...facts)
        await given.settle(turn, isoAt(end))
        expect(await readAllRows(given.prisma)).toEqual(live)
      }),
      { ...campaign.replay, numRuns: campaign.runs },
    )
  })
})
