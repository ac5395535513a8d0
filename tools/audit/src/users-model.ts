import type { Catalog } from './catalog.ts'
import { compareRows, userCells } from './compare-rows.ts'
import { countNames } from './count-names.ts'
import { type ClearEvent, type IdentifyRequested, type UserRef, userKey, userKeyIn, type Value } from './facts.ts'
import { createKeptAnswers } from './kept-answers.ts'
import { withLatest } from './latest.ts'
import { type Model, OF_RANGE } from './model.ts'
import { compareSegmentCounts, compareSegments } from './segments.ts'
import { fillIn, keptDevice, operate, traitBytes } from './operate.ts'
import { userIdOf } from './uuid-v5.ts'

interface User {
  userName: string
  readonly traits: Map<string, Value>
  dropped: number
  readonly device: Map<string, string>
  country: string | null
  firstSeenAt: string
  lastSeenAt: string
}

interface EventCount {
  count: number
  firstAt: string
  lastAt: string
  latest: number[]
}

/** Columns that depend on the order of records, including `lastSeenAt`: a visit counts only for a known user. */
const ORDER_DEPENDENT = new Set(['userName', 'traits', 'traitBytes', 'dropped', 'country', 'device', 'lastSeenAt'])

/** Creates the model of the user projector's `users`, `user_events` and `form_answers`. */
export function createUsersModel(catalog: Catalog, isAtRest: boolean): Model {
  const users = new Map<string, User>()
  const events = new Map<string, EventCount>()
  const answers = createKeptAnswers()
  const late = new Set<string>()
  /** Users with records that can no longer be opened. */
  const lost = new Set<string>()

  const userOf = (key: string, fact: IdentifyRequested, at: string): User => {
    const user = users.get(key) ?? newUser(at)
    users.set(key, user)
    user.userName = fact.userName
    return user
  }

  const fillInHistory = (key: string, fact: IdentifyRequested): void => {
    const { occurredAt = fact.received } = fact
    const user = userOf(key, fact, occurredAt)
    user.dropped += fillIn(user.traits, fact.operations) + tooLong(fact)
    for (const [name, value] of keptDevice(fact.device)) {
      if (name === '$countryCode') user.country ??= value
      else if (!user.device.has(name)) user.device.set(name, value)
    }
    if (occurredAt < user.firstSeenAt) user.firstSeenAt = occurredAt
  }

  const identify = (key: string, fact: IdentifyRequested): void => {
    const user = userOf(key, fact, fact.received)
    user.dropped += operate(user.traits, fact.operations) + tooLong(fact)
    for (const [name, value] of keptDevice(fact.device)) {
      if (name === '$countryCode') user.country = value
      else user.device.set(name, value)
    }
    if (fact.received < user.firstSeenAt) user.firstSeenAt = fact.received
    if (fact.received > user.lastSeenAt) user.lastSeenAt = fact.received
  }

  const track = (key: string, fact: ClearEvent): void => {
    const user = users.get(key)
    const { source, received } = fact
    if (user && source === 'sdk' && received > user.lastSeenAt) user.lastSeenAt = received
    for (const name of countNames(fact)) count(`${key}/${name}`, fact)
  }

  const count = (key: string, fact: ClearEvent): void => {
    const { occurredAt } = fact
    const event = events.get(key) ?? { count: 0, firstAt: occurredAt, lastAt: occurredAt, latest: [] }
    events.set(key, event)
    event.count += 1
    if (occurredAt < event.firstAt) event.firstAt = occurredAt
    if (occurredAt > event.lastAt) event.lastAt = occurredAt
    event.latest = withLatest(event.latest, fact)
  }

  return {
    foldUser: (fact, { isLate }) => {
      const key = userKey(fact)
      if (isLate) late.add(key)
      if (fact.type === 'IdentifyRequested') (fact.imported ? fillInHistory : identify)(key, fact)
      if (fact.type === 'EventTracked') track(key, fact)
      if (fact.type === 'AnswerGiven') answers.give(fact)
    },

    foldLost: (fact) => {
      // The projector does not open events.
      if (fact.type === 'EventTracked') track(userKey(fact), fact)
      else lost.add(userKey(fact))
    },

    compareUsers: async (snapshot, range, findings) => {
      const { first, last } = range
      for (const [key, { userName }] of users) {
        if (!hasOwnId(key, userName)) findings.add('user-events: userId', key, 'is not the UUID of its userName')
      }
      const stateOf = (key: string) => {
        const user = late.has(key) || lost.has(key) ? undefined : users.get(key)
        return (
          user && { ...user, answers: answers.of(key), eventOf: (counted: string) => events.get(`${key}/${counted}`) }
        )
      }
      await compareSegments({ snapshot, range, catalog, isAtRest, stateOf, findings })
      await compareRows({
        table: 'users.users',
        expected: users,
        cellsOf: (user) => ({ ...user, traitBytes: traitBytes(user.traits) }),
        rows: snapshot.rows<UserRef & { readonly traits: string; readonly device: string }>(
          `SELECT organization, project, user_id AS "userId", user_name AS "userName", traits::text,
             trait_bytes AS "traitBytes", dropped_trait_operations AS dropped, country,
             device::text, first_seen_at AS "firstSeenAt", last_seen_at AS "lastSeenAt" FROM users ${OF_RANGE}`,
          [first, last],
        ),
        keyOf: userKey,
        foundIn: userCells,
        isUnknowable: (key, column) => late.has(key) && ORDER_DEPENDENT.has(column),
        isSkipped: (key) => lost.has(key),
        findings,
      })
      await compareRows({
        table: 'users.user_events',
        expected: events,
        cellsOf: (event) => ({ ...event, latest: event.latest.join() }),
        rows: snapshot.rows<UserRef & { readonly slug: string }>(
          `SELECT organization, project, user_id AS "userId", slug, count, first_at AS "firstAt", last_at AS "lastAt",
             array_to_string(latest_ms, ',') AS latest FROM user_events ${OF_RANGE}`,
          [first, last],
        ),
        keyOf: (row) => `${userKey(row)}/${row.slug}`,
        isUnknowable: (key, column) => column === 'latest' && late.has(userKeyIn(key)),
        findings,
      })
      await answers.compare(snapshot, range, { isSkipped: (key) => late.has(key) || lost.has(key), findings })
      late.clear()
      lost.clear()
    },

    compareShared: compareSegmentCounts,
  }
}

function newUser(at: string): User {
  return {
    userName: '',
    traits: new Map(),
    dropped: 0,
    device: new Map(),
    country: null,
    firstSeenAt: at,
    lastSeenAt: at,
  }
}

/** Returns the number of device facts that are too long. */
function tooLong({ device }: IdentifyRequested): number {
  return Object.keys(device).length - keptDevice(device).length
}

function hasOwnId(key: string, userName: string): boolean {
  const [organization = '', project = '', userId] = key.split('/')
  return userIdOf(organization, project, userName) === userId
}
