import type { ActivityFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, visit } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { DAY, MINUTE, NOW } from '../../test/form-fixtures.ts'
import { EMPTY_PROFILE } from '../traits/profile.ts'
import { applyEvent, applyIdentify, applyVisit, type User } from './user.ts'
import { countWithin } from '../counts/event-history.ts'

const at = (ms: number) => new Date(NOW + ms).toISOString()

/** A user after these records, and the number of visits that started a session. */
function fold(...facts: readonly ActivityFact[]) {
  const user: User = { profile: EMPTY_PROFILE, events: new Map(), answers: new Map() }
  let sessions = 0
  for (const fact of facts) {
    if (fact.type === 'EventTracked') applyEvent(user, fact)
    else {
      applyIdentify(user, fact)
      if (applyVisit(user, fact)) sessions += 1
    }
  }
  return { ...user, sessions }
}

const visitAt = (ms: number) => visit({ received: at(ms) })
const adminAt = (ms: number) => identifyRequested({ received: at(ms) })
const sdkEventAt = (ms: number) => eventTracked({ source: 'sdk', received: at(ms) })
const adminEventAt = (ms: number) => eventTracked({ received: at(ms) })

describe('the instant when a user was first seen (forms.md, When a record is evaluated)', () => {
  it.each([
    ['that of a visit', [visitAt(0), visitAt(DAY)], NOW],
    ['that of an admin identify', [adminAt(0), visitAt(DAY)], NOW],
    ['the earliest receipt, in any order of records', [visitAt(DAY), adminAt(0)], NOW],
    [
      'the time of an imported identify',
      [visitAt(0), identifyRequested({ imported: true, occurredAt: at(-DAY) })],
      NOW - DAY,
    ],
    ['undefined after events only', [sdkEventAt(0)], undefined],
  ])('is %s', (_what, facts, firstSeenAt) => {
    expect(fold(...facts).firstSeenAt).toBe(firstSeenAt)
  })
})

describe('a session', () => {
  it.each([
    ['is started by the first visit', [visitAt(0)], 1],
    ['is started again by a visit 30 minutes later', [visitAt(0), visitAt(30 * MINUTE)], 2],
    ['is not started by a visit a moment earlier', [visitAt(0), visitAt(30 * MINUTE - 1)], 1],
    ['lasts by visits', [visitAt(0), visitAt(20 * MINUTE), visitAt(40 * MINUTE)], 1],
    ['lasts by SDK events', [visitAt(0), sdkEventAt(20 * MINUTE), visitAt(40 * MINUTE)], 1],
    ['does not last by admin events', [visitAt(0), adminEventAt(20 * MINUTE), visitAt(40 * MINUTE)], 2],
    ['does not last by admin identifies', [visitAt(0), adminAt(20 * MINUTE), visitAt(40 * MINUTE)], 2],
    [
      'is not shortened by a late record',
      [visitAt(0), sdkEventAt(20 * MINUTE), sdkEventAt(1), visitAt(40 * MINUTE)],
      1,
    ],
    ['is not started by an admin identify', [adminAt(0)], 0],
    ['is not started by an imported visit', [visit({ imported: true, received: at(0) })], 0],
    ['is started by the first visit after SDK events', [sdkEventAt(0), visitAt(1)], 1],
  ])('%s', (_what, facts, sessions) => {
    expect(fold(...facts).sessions).toBe(sessions)
  })

  it('counts the SDK events in it; the total counts all', () => {
    const { events } = fold(sdkEventAt(0), visitAt(1), sdkEventAt(2), adminEventAt(3), sdkEventAt(4))
    expect(events.get('checkout_completed')).toMatchObject({ total: 4, session: { startedAt: NOW + 1, count: 2 } })
  })
})

it('the history of a caller whose clock is fast keeps the past times', () => {
  const events = Array.from({ length: 80 }, (_, minute) =>
    eventTracked({ received: at(minute * MINUTE), occurredAt: at((minute + 2) * MINUTE) }),
  )
  const [history] = fold(...events).events.values()
  expect(countWithin(history, NOW + 79 * MINUTE, DAY), 'more than 50 of the 78').toBe(51)
  expect(countWithin(history, NOW + 79 * MINUTE, 10 * MINUTE)).toBe(10)
})
