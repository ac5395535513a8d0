import type { NamedUser } from '@nextvisit/contracts'
import { userErased, userIdFixture } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { answered } from '../http/api-route.ts'
import { noAnswerOf } from '../services.ts'
import type { KeptEntry } from './live-entries.ts'
import { createShownUsers } from './shown-users.ts'

const KEYS_UNTIL = '2026-11-23T03:00:00.000Z'
const signal = new AbortController().signal

function entryOf(userName: string | null, offset?: number): KeptEntry {
  const entry: KeptEntry['entry'] = {
    id: String(offset),
    at: KEYS_UNTIL,
    kind: 'event',
    organization: 'acme',
    project: 'shop',
    userId: userName === null ? null : userIdFixture(userName),
    userName: null,
    title: 'Event',
    marks: [],
    refusal: null,
    requestId: null,
  }
  return {
    entry,
    event: undefined,
    ...(offset !== undefined && { record: { offset: BigInt(offset), keyId: undefined } }),
  }
}

/** Creates users that the projector knows by name, and counts the users that it is asked for in each call. */
function givenUsers(names: readonly string[], maxUsers = 10) {
  const asked: number[] = []
  const known = new Map<string, NamedUser>(names.map((userName) => [userIdFixture(userName), { userName }]))
  const clock = { nowMs: 10_000, isAnswering: true }
  const users = createShownUsers({
    readUserNames: async ({ questions }) => {
      asked.push(questions.length)
      if (!clock.isAnswering) return noAnswerOf('user-projector')
      return answered({ answers: questions.map(({ userId }) => known.get(userId) ?? { userName: null }) })
    },
    nowMs: () => clock.nowMs,
    maxUsers,
  })
  const show = async (...entries: readonly KeptEntry[]) => {
    const showUser = await users.of(entries, signal)
    return entries.map((entry) => {
      const { userName, isErased } = showUser(entry)
      return isErased ? 'erased' : userName
    })
  }
  return { asked, known, clock, users, show }
}

describe('the users of Live', () => {
  it('are read in one call, each at most once in two seconds', async () => {
    const { asked, clock, show } = givenUsers(['ada', 'bob'])
    const entries = [entryOf('ada', 1), entryOf('bob'), entryOf('ada', 2), entryOf('eve', 3), entryOf(null)]
    expect(await show(...entries)).toEqual(['ada', 'bob', 'ada', null, null])
    expect(await show(...entries)).toEqual(['ada', 'bob', 'ada', null, null])
    expect(asked).toEqual([3])
    clock.nowMs += 2_001
    await show(...entries)
    expect(asked).toEqual([3, 3])
  })

  it('stay named for a while if the projector does not answer', async () => {
    const { clock, show } = givenUsers(['ada'])
    clock.isAnswering = false
    expect(await show(entryOf('ada', 1))).toEqual([null])
    clock.isAnswering = true
    expect(await show(entryOf('ada', 1))).toEqual(['ada'])
    clock.isAnswering = false
    clock.nowMs += 2_001
    expect(await show(entryOf('ada', 1))).toEqual(['ada'])
  })

  it('are erased at once by an erasure in the log, and after their return only before the fence', async () => {
    const { known, clock, users, show } = givenUsers(['ada'])
    const entries = [entryOf('ada', 1), entryOf('ada'), entryOf('ada', 6)]
    expect(await show(...entries)).toEqual(['ada', 'ada', 'ada'])
    const erased = userErased({ keysUntil: KEYS_UNTIL })
    users.erase(erased, 5n)
    expect(await show(...entries)).toEqual(['erased', null, null])
    known.set(userIdFixture('ada'), {
      userName: 'ada',
      fence: { offset: '5', keysUntil: KEYS_UNTIL, erasureId: erased.erasureId },
    })
    clock.nowMs += 2_001
    expect(await show(...entries)).toEqual(['erased', 'ada', 'ada'])
    // A copy of the erasure changes nothing.
    users.erase(erased, 7n)
    expect(await show(...entries)).toEqual(['erased', 'ada', 'ada'])
  })

  it('are bounded: the user that was read first is dropped', async () => {
    const { asked, show } = givenUsers(['ada', 'bob', 'eve'], 2)
    await show(entryOf('ada'), entryOf('bob'))
    await show(entryOf('eve'))
    await show(entryOf('bob'), entryOf('eve'))
    await show(entryOf('ada'))
    expect(asked).toEqual([2, 1, 1])
  })
})
