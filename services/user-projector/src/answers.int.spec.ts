import type { AnswerGiven } from '@nextvisit/contracts'
import { answerGiven, identifyRequested, userErased, userIdFixture } from '@nextvisit/contracts/fixtures'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { catalogOf, givenProjector, readAllRows, type Turn, type WrittenSegment } from '../test/given-projector.ts'
import { readSegmentMembers, readUser } from './queries.ts'

const shop = { organization: 'acme', project: 'shop' }
const detractors = { id: 'detractors', where: { answer: { form: 'nps', element: 'score' }, atMost: 6 } }
const silent = { id: 'silent', where: { answer: { form: 'nps', element: 'score' }, exists: false } }

const at = (time: string) => `2026-11-02T${time}:00.000Z`

let given: Awaited<ReturnType<typeof givenProjector>>
beforeAll(async () => {
  given = await givenProjector(inject('databaseUrl'))
})
afterAll(() => given?.stop())
beforeEach(() => given.clear())

function turn(segments: readonly WrittenSegment[], revision = 1): Turn {
  return { catalog: catalogOf(segments, revision) }
}

function answered(
  time: string,
  score: number,
  special: Partial<AnswerGiven> & { userName?: string } = {},
): AnswerGiven {
  const offerId = crypto.randomUUID()
  return answerGiven({ received: at(time), answers: { score }, elements: { score: 'nps' }, offerId, ...special })
}

/** Reads the members of segments, and since when they are members. */
async function membersOf(segmentId: string): Promise<string[]> {
  const { users } = await readSegmentMembers(given.prisma, { ...shop, segmentId, limit: 1_000 })
  return users.map(({ userName, since }) => `${userName} ${since.slice(11, 16)}`).toSorted()
}

describe('a segment on answers', () => {
  it('follows finished answers, and before the first one also those of an offer that is not finished', async () => {
    const now = turn([detractors, silent])
    await given.fold(now, identifyRequested({ received: at('08:00') }))
    expect([await membersOf('detractors'), await membersOf('silent')]).toEqual([[], ['ada 08:00']])
    const first = answered('09:00', 4, { status: 'partial' })
    await given.fold(now, first)
    expect([await membersOf('detractors'), await membersOf('silent')]).toEqual([['ada 09:00'], []])
    await given.fold(now, answered('10:00', 9))
    expect(await membersOf('detractors')).toEqual([])
    await given.fold(now, answered('10:30', 4, { status: 'partial' }))
    expect(await membersOf('detractors')).toEqual([])
    await given.fold(now, answered('11:00', 4, { offerId: first.offerId }))
    expect(await membersOf('detractors')).toEqual(['ada 11:00'])
  })

  it('includes answers before the first identify, and none of other users', async () => {
    const now = turn([detractors])
    await given.fold(now, answered('08:00', 4), identifyRequested({ received: at('08:30'), userName: 'bob' }))
    expect(await membersOf('detractors')).toEqual([])
    await given.fold(now, identifyRequested({ received: at('09:00') }))
    expect(await membersOf('detractors')).toEqual(['ada 09:00'])
  })

  it('that is added or changed contains the users who answered before', async () => {
    const before = turn([])
    await given.fold(before, identifyRequested({ received: at('08:00') }), answered('08:30', 4))
    await given.fold(before, identifyRequested({ received: at('08:00'), userName: 'bob' }))
    const added = turn([detractors], 2)
    await given.settle(added, at('10:00'))
    expect(await membersOf('detractors')).toMatchObject([expect.stringMatching(/^ada /)])
    const changed = turn([{ id: 'detractors', where: { ...detractors.where, atMost: 3 } }], 3)
    await given.settle(changed, at('11:00'))
    expect(await membersOf('detractors')).toEqual([])
  })

  it('has the same members after a rebuild', async () => {
    const now = turn([detractors])
    const facts = [
      identifyRequested({ received: at('08:00') }),
      answered('09:00', 4),
      answered('10:00', 5, { formId: 'csat' }),
    ]
    for (const fact of facts) await given.fold(now, fact)
    const live = await readAllRows(given.db)
    await given.clear()
    await given.rebuild(now, ...facts)
    expect(await readAllRows(given.db)).toEqual(live)
  })

  it('loses an erased user, and the answers are deleted', async () => {
    const now = turn([detractors])
    await given.fold(now, identifyRequested({ received: at('08:00') }), answered('09:00', 4))
    await given.fold(now, userErased({ received: at('10:00') }))
    expect(await membersOf('detractors')).toEqual([])
    expect(await given.prisma.formAnswers.count()).toBe(0)
  })
})

it('an answer changes nothing else about a user', async () => {
  await given.fold(turn([]), identifyRequested({ received: at('08:00') }))
  const ada = { ...shop, userId: userIdFixture('ada') }
  const before = await readUser(given.prisma, ada)
  await given.fold(turn([]), answered('09:00', 4))
  expect(await readUser(given.prisma, ada)).toEqual(before)
})
