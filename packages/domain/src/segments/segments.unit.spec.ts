import { type Condition, ProjectConfig, type Segment } from '@nextvisit/contracts'
import { countArraySteps } from '@nextvisit/contracts/count-array-steps'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { User } from '../users/user.ts'
import { DAY, history, NOW, SECOND } from '../../test/form-fixtures.ts'
import { recomputeSegments, type SegmentedUser } from './segmented-user.ts'
import { compileSegments, NO_SEGMENTS } from './segments.ts'

function indexOf(segments: readonly Segment[]) {
  return compileSegments(ProjectConfig.parse({ id: 'shop', segments }))
}

/** An index over segments `a`, `b`, … with these trees. */
function segmentsOf(...trees: readonly Condition[]) {
  return indexOf(trees.map((where, index) => ({ id: String.fromCodePoint(97 + index), where })))
}

function userOf({ at = [], joined }: { at?: readonly number[]; joined?: string } = {}): User {
  return {
    profile: { traits: new Map(joined === undefined ? [] : [['joined', joined]]), traitBytes: 0, device: {} },
    events: at.length === 0 ? new Map() : new Map([['paid', history(at)]]),
    answers: new Map(),
  }
}

describe('membership of segments', () => {
  it('is listed by id, and follows the segments that a segment names', () => {
    const index = indexOf([
      { id: 'payers', where: { event: 'Paid', atLeast: 1 } },
      { id: 'lost', where: { not: { segment: 'payers' } } },
      { id: 'both', where: { all: [{ segment: 'payers' }, { not: { segment: 'lost' } }] } },
    ])
    expect(index.membershipAt(userOf({ at: [NOW] }), NOW)).toEqual({
      segments: ['both', 'payers'],
      changesAt: undefined,
    })
    expect(index.membershipAt(userOf(), NOW).segments).toEqual(['lost'])
    expect(index.countKeys).toEqual(new Set(['paid']))
  })

  it('is empty for segments that depend on themselves or on a missing one', () => {
    const index = segmentsOf({ segment: 'a' }, { segment: 'gone' })
    expect(index.membershipAt(userOf({ at: [NOW] }), NOW)).toEqual({ segments: [], changesAt: undefined })
  })

  it('is updated in time that grows with the number of segments', () => {
    expect(stepsToUpdate(1_000) / stepsToUpdate(500)).toBeLessThan(2.5)
  })

  it('evaluates each segment once, however many others name it', () => {
    const levels = Array.from({ length: 40 }, (_, level) => `s${level}`)
    const index = indexOf([
      { id: 'payers', where: { event: 'Paid', atLeast: 1, within: '7d' } },
      ...levels.map((id, level): Segment => {
        const below = { segment: level === 0 ? 'payers' : `s${level - 1}` }
        return { id, where: { any: [{ not: below }, { all: [below, below] }] } }
      }),
    ])
    let looks = 0
    const events = new Map([['paid', history([NOW - DAY])]])
    const counting = { get: (slug: string) => ((looks += 1), events.get(slug)) } as unknown as typeof events
    const { segments, changesAt } = index.membershipAt({ ...userOf(), events: counting }, NOW)
    expect(segments).toHaveLength(41)
    expect(changesAt).toBe(NOW + 6 * DAY)
    expect(looks, 'one for the condition, one for its clock').toBe(2)
  })

  it.each([
    ['first to last', (chain: readonly Segment[]) => chain],
    ['last to first', (chain: readonly Segment[]) => chain.toReversed()],
  ])('follows a chain that is longer than the stack, written %s', (_how, inOrder) => {
    const length = 5_000
    const chain = Array.from({ length }, (_, at): Segment => {
      const below: Condition = at + 1 < length ? { segment: `s${at + 1}` } : { event: 'Paid', atLeast: 1 }
      return { id: `s${at}`, where: { all: [below, { not: { country: 'DE' } }] } }
    })
    const index = indexOf(inOrder(chain))
    const [payer, other] = [userOf({ at: [NOW] }), userOf()]
    expect(
      [index.membershipAt(payer, NOW), index.membershipAt(other, NOW)].map(({ segments }) => segments.length),
    ).toEqual([length, 0])
    expect([index.membersAt(payer, NOW)('s0'), index.membersAt(other, NOW)('s0')]).toEqual([true, false])
    expect(index.countKeysOf('s0')).toEqual(new Set(['paid']))
    expect(new Set(index.segments.map(({ fingerprint }) => fingerprint)).size).toBe(length)
  })

  it('is empty in a cycle that is longer than the stack', () => {
    const length = 5_000
    const index = indexOf(
      Array.from({ length }, (_, at) => ({ id: `s${at}`, where: { segment: `s${(at + 1) % length}` } })),
    )
    expect(index.membershipAt(userOf(), NOW).segments).toEqual([])
    expect(index.membersAt(userOf(), NOW)('s7')).toBe(false)
  })

  it('of a project without segments never changes', () => {
    expect(NO_SEGMENTS.membershipAt(userOf(), NOW)).toEqual({ segments: [], changesAt: undefined })
    expect(NO_SEGMENTS.fingerprint).toBe('')
  })
})

const STEP = 250
/** From now on: what happens in steps, and just before and after each, where all the spec's windows are whole steps. */
function momentsBefore(until: number): number[] {
  const steps = Array.from({ length: 40 }, (_, index) => NOW + index * STEP)
  return steps.flatMap((step) => [step - 1, step, step + 1]).filter((moment) => moment >= NOW && moment < until)
}

describe('the instant at which time alone changes membership', () => {
  const inAWeek = { event: 'paid', atLeast: 1, within: '7d' } as const
  type Row = readonly [what: string, where: Condition, user: User, isIn: boolean, changesAt: number | undefined]
  const rows: readonly Row[] = [
    [
      'an event leaves its window when it is as old as the window',
      inAWeek,
      userOf({ at: [NOW - DAY] }),
      true,
      NOW + 6 * DAY,
    ],
    [
      'an event that has just left its window changes nothing',
      inAWeek,
      userOf({ at: [NOW - 7 * DAY] }),
      false,
      undefined,
    ],
    ['a future event enters its window when it occurs', inAWeek, userOf({ at: [NOW + SECOND] }), false, NOW + SECOND],
    ['an event of this moment is in its window', inAWeek, userOf({ at: [NOW] }), true, NOW + 7 * DAY],
    ['the last of many events decides', inAWeek, userOf({ at: [NOW - 3 * DAY, NOW - DAY] }), true, NOW + 6 * DAY],
    [
      'the second of three events decides if two are required',
      { event: 'paid', atLeast: 2, within: '7d' },
      userOf({ at: [NOW - 3 * DAY, NOW - 2 * DAY, NOW - DAY] }),
      true,
      NOW + 5 * DAY,
    ],
    [
      'an absence begins when the window is empty',
      { event: 'paid', exactly: 0, within: '7d' },
      userOf({ at: [NOW - DAY] }),
      false,
      NOW + 6 * DAY,
    ],
    [
      'an event that never happened stays absent',
      { event: 'paid', exactly: 0, within: '7d' },
      userOf(),
      true,
      undefined,
    ],
    ['a count without a window never changes', { event: 'paid', atLeast: 1 }, userOf({ at: [NOW] }), true, undefined],
    [
      'a date is recent until it is as old as the bound',
      { trait: 'joined', after: '-30d' },
      userOf({ joined: new Date(NOW - 29 * DAY).toISOString() }),
      true,
      NOW + DAY,
    ],
    [
      'a date is long ago from just after it is as old as the bound',
      { trait: 'joined', before: '-30d' },
      userOf({ joined: new Date(NOW - 30 * DAY).toISOString() }),
      false,
      NOW + 1,
    ],
    [
      'a value that is not a date has no age',
      { trait: 'joined', after: '-30d' },
      userOf({ joined: 'soon' }),
      false,
      undefined,
    ],
    [
      'a bound that is an instant never changes',
      { trait: 'joined', before: '2026-12-01T00:00:00Z' },
      userOf({ joined: '2026-11-02' }),
      true,
      undefined,
    ],
    [
      'a change after the year 9999 counts as none',
      { trait: 'joined', after: '-999999d' },
      userOf({ joined: '9999-12-31' }),
      true,
      undefined,
    ],
  ]
  it.each(rows)('is known: %s', (_what, where, user, isIn, changesAt) => {
    const alone = segmentsOf(where)
    expect(alone.membershipAt(user, NOW)).toEqual({ segments: isIn ? ['a'] : [], changesAt })
    const nested = segmentsOf({ not: { segment: 'b' } }, where)
    expect(nested.membershipAt(user, NOW)).toEqual({ segments: [isIn ? 'b' : 'a'], changesAt })
  })

  it('is the earliest of several', () => {
    const index = segmentsOf(
      { all: [inAWeek, { event: 'paid', atLeast: 1, within: '3d' }] },
      { any: [inAWeek, { trait: 'joined', exists: true }] },
    )
    expect(index.membershipAt(userOf({ at: [NOW - DAY] }), NOW).changesAt).toBe(NOW + 2 * DAY)
  })

  it('precedes every change: until then, membership is the same', () => {
    const around = fc.integer({ min: -14, max: 14 }).map((steps) => NOW + steps * STEP)
    const seconds = fc.integer({ min: 1, max: 3 }).map((count) => `${count}s`)
    const count = fc.integer({ min: 0, max: 3 })
    const leaf = fc.oneof(
      fc.record({ event: fc.constant('paid'), atLeast: count, within: seconds }),
      fc.record({ event: fc.constant('paid'), atMost: count, within: seconds }),
      fc.record({ event: fc.constant('paid'), exactly: count, within: seconds }),
      fc.record({ trait: fc.constant('joined'), before: seconds.map((age) => `-${age}`) }),
      fc.record({ trait: fc.constant('joined'), after: seconds.map((age) => `-${age}`) }),
    )
    const { tree } = fc.letrec<{ tree: Condition }>((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.record({ all: fc.array(tie('tree'), { maxLength: 3 }) }),
        fc.record({ any: fc.array(tie('tree'), { maxLength: 3 }) }),
        fc.record({ not: tie('tree') }),
      ),
    }))
    const user = fc.record({
      at: fc.array(around, { maxLength: 6 }),
      joined: around.map((instant) => new Date(instant).toISOString()),
    })
    let changes = 0
    fc.assert(
      fc.property(tree, tree, user, (one, other, given) => {
        const index = segmentsOf(one, { any: [{ segment: 'a' }, other] })
        const state = userOf(given)
        const { segments, changesAt } = index.membershipAt(state, NOW)
        const until = changesAt ?? NOW + 8_000
        expect(until).toBeGreaterThan(NOW)
        const isSame = (now: number) => index.membershipAt(state, now).segments.join() === segments.join()
        expect(momentsBefore(until).filter((now) => !isSame(now))).toEqual([])
        if (changesAt !== undefined) changes += 1
      }),
      { numRuns: 200 },
    )
    expect(changes, 'some of it changes').toBeGreaterThan(30)
  })
})

const payers = { id: 'payers', where: { event: 'paid', atLeast: 1 } } as const
const lost = { id: 'lost', where: { not: { segment: 'payers' } } } as const
const fingerprintsOf = (...segments: readonly Segment[]) =>
  new Map(indexOf(segments).segments.map(({ id, fingerprint }) => [id, fingerprint]))

describe('the fingerprint of a segment', () => {
  it('is equal for an equal condition, with any name and any other segments', () => {
    expect(fingerprintsOf({ ...payers, name: 'Payers' }).get('payers')).toBe(fingerprintsOf(lost, payers).get('payers'))
    expect(indexOf([payers, lost]).fingerprint).toBe(indexOf([lost, payers]).fingerprint)
  })

  it('differs with its condition, its id, and the condition of a segment that it names', () => {
    const before = fingerprintsOf(payers, lost)
    const after = fingerprintsOf({ ...payers, where: { event: 'paid', atLeast: 2 } }, lost)
    expect(after.get('payers')).not.toBe(before.get('payers'))
    expect(after.get('lost')).not.toBe(before.get('lost'))
    expect(fingerprintsOf({ ...payers, id: 'buyers' }).get('buyers')).not.toBe(before.get('payers'))
    expect(indexOf([payers]).fingerprint).not.toBe(indexOf([payers, lost]).fingerprint)
  })
})

/** Counts the steps of an update of a user who is a member of this many segments. */
function stepsToUpdate(count: number): number {
  const index = indexOf(Array.from({ length: count }, (_, at) => ({ id: `s${at}`, where: { not: { country: 'DE' } } })))
  const user: SegmentedUser = {
    ...userOf(),
    firstSeenAt: NOW,
    segments: { index },
    computed: { fingerprint: '', asOf: undefined, changesAt: undefined },
    memberships: new Map(),
    isChanged: false,
  }
  recomputeSegments(user, NOW, 'record')
  expect(user.memberships.size).toBe(count)
  return countArraySteps(() => recomputeSegments(user, NOW + SECOND, 'record'))
}
