import { countNames } from './count-names.ts'
import { compareRows, userCells } from './compare-rows.ts'
import {
  type ClearFact,
  type EventTracked,
  type IdentifyRequested,
  type UserFact,
  type UserRef,
  userKey,
  userKeyIn,
  type Value,
} from './facts.ts'
import { createKeptAnswers } from './kept-answers.ts'
import { withLatest } from './latest.ts'
import { type FoldedFact, type Model, OF_RANGE } from './model.ts'
import { fillIn, keptDevice, operate, traitBytes } from './operate.ts'
import type { ActivityThen } from './triggers.ts'

interface Activity {
  readonly traits: Map<string, Value>
  readonly device: Map<string, string>
  firstSeenAt: string | null
  sessionStartedAt: string | null
  lastSdkContactAt: string | null
}

interface Occurrences {
  total: number
  /** Kept times in ms, ascending. */
  latest: number[]
  sessionStartedAt: string | null
  sessionCount: number
  /** Times of the last event that triggered nothing. */
  missedAt: string | null
  missedReceivedAt: string | null
}

const SESSION_GAP_MS = 30 * 60_000
const ORDER_DEPENDENT = new Set([
  'traits',
  'traitBytes',
  'device',
  'sessionStartedAt',
  'sessionCount',
  'latest',
  'missedAt',
  'missedReceivedAt',
])

/** A record with its opened members, and the user's activity including the record. */
export interface ActiveRecord {
  readonly fact: UserFact
  readonly activity: ActivityThen
}

/** Receives each record. `active` is undefined if the log does not determine the user's activity. */
export type OnActivity = (fact: ClearFact, how: FoldedFact, active: ActiveRecord | undefined) => void

/** Creates the model of `users`, `event_occurrences` and `form_answers` of the form trigger evaluator (forms.md). */
export function createActivityModel(onActivity?: OnActivity): Model {
  const users = new Map<string, Activity>()
  const occurrences = new Map<string, Occurrences>()
  const answers = createKeptAnswers()
  const late = new Set<string>()
  /** Users with records that can no longer be opened. */
  const lost = new Set<string>()

  const activityOf = (key: string): Activity => {
    const user = users.get(key) ?? newActivity()
    users.set(key, user)
    return user
  }

  const fillInHistory = (
    key: string,
    { operations, device, received, occurredAt = received }: IdentifyRequested,
  ): void => {
    const user = activityOf(key)
    fillIn(user.traits, operations)
    for (const [name, value] of keptDevice(device)) if (!user.device.has(name)) user.device.set(name, value)
    if (user.firstSeenAt === null || occurredAt < user.firstSeenAt) user.firstSeenAt = occurredAt
  }

  /** Folds an identify. Returns whether it starts a session. */
  const identify = (key: string, { operations, device, received, source }: IdentifyRequested): boolean => {
    const user = activityOf(key)
    operate(user.traits, operations)
    for (const [name, value] of keptDevice(device)) user.device.set(name, value)
    if (user.firstSeenAt === null || received < user.firstSeenAt) user.firstSeenAt = received
    if (source === 'admin') return false
    const startsSession = beginsSession(user, received)
    if (startsSession) user.sessionStartedAt = received
    touch(user, received)
    return startsSession
  }

  const track = (key: string, fact: EventTracked): void => {
    const { source, received } = fact
    const session = source === 'sdk' ? (users.get(key)?.sessionStartedAt ?? null) : null
    for (const name of countNames(fact)) {
      const before = occurrences.get(`${key}/${name}`)
      occurrences.set(`${key}/${name}`, withOne(before, fact, session))
    }
    if (source === 'sdk') touch(activityOf(key), received)
  }

  const activityThen = (key: string, startsSession: boolean): ActivityThen => {
    const user = users.get(key) ?? newActivity()
    const eventOf: ActivityThen['eventOf'] = (counted) => {
      const event = occurrences.get(`${key}/${counted}`)
      const isOn = event?.sessionStartedAt === user.sessionStartedAt
      return event && { total: event.total, latest: event.latest, inSession: isOn ? event.sessionCount : 0 }
    }
    return { ...user, startsSession, eventOf, answers: answers.of(key) }
  }

  return {
    foldUser: (fact, how) => {
      const key = userKey(fact)
      if (how.isLate) late.add(key)
      let startsSession = false
      if (fact.type === 'IdentifyRequested' && fact.imported) fillInHistory(key, fact)
      else if (fact.type === 'IdentifyRequested') startsSession = identify(key, fact)
      else if (fact.type === 'EventTracked') track(key, fact)
      else if (fact.type === 'AnswerGiven') answers.give(fact)
      const isKnown = !late.has(key) && !lost.has(key)
      onActivity?.(fact, how, isKnown ? { fact, activity: activityThen(key, startsSession) } : undefined)
    },

    foldLost: (fact, how) => {
      lost.add(userKey(fact))
      onActivity?.(fact, how, undefined)
    },

    compareUsers: async (snapshot, { first, last }, findings) => {
      await compareRows({
        table: 'forms.users',
        expected: users,
        cellsOf: (user) => ({ ...user, traitBytes: traitBytes(user.traits) }),
        rows: snapshot.rows<UserRef & { readonly traits: string; readonly device: string }>(
          `SELECT organization, project, user_id AS "userId", traits::text,
             trait_bytes AS "traitBytes", device::text,
             first_seen_at AS "firstSeenAt", session_started_at AS "sessionStartedAt",
             last_sdk_contact_at AS "lastSdkContactAt" FROM users ${OF_RANGE}`,
          [first, last],
        ),
        keyOf: userKey,
        foundIn: userCells,
        isUnknowable: (key, column) => late.has(key) && ORDER_DEPENDENT.has(column),
        isSkipped: (key) => lost.has(key),
        findings,
      })
      await compareRows({
        table: 'forms.event_occurrences',
        expected: occurrences,
        cellsOf: ({ latest, ...numbers }) => ({ ...numbers, latest: latest.join() }),
        rows: snapshot.rows<UserRef & { readonly slug: string }>(
          `SELECT organization, project, user_id AS "userId", slug, total, array_to_string(latest_ms, ',') AS latest,
             session_started_at AS "sessionStartedAt", session_count AS "sessionCount",
             missed_at AS "missedAt", missed_received_at AS "missedReceivedAt"
           FROM event_occurrences ${OF_RANGE}`,
          [first, last],
        ),
        keyOf: (row) => `${userKey(row)}/${row.slug}`,
        isUnknowable: (key, column) => late.has(userKeyIn(key)) && ORDER_DEPENDENT.has(column),
        isSkipped: (key) => lost.has(userKeyIn(key)),
        findings,
      })
      await answers.compare(snapshot, { first, last }, { isSkipped: (key) => late.has(key) || lost.has(key), findings })
      late.clear()
      lost.clear()
    },
  }
}

function newActivity(): Activity {
  return {
    traits: new Map(),
    device: new Map(),
    firstSeenAt: null,
    sessionStartedAt: null,
    lastSdkContactAt: null,
  }
}

function beginsSession({ sessionStartedAt, lastSdkContactAt }: Activity, received: string): boolean {
  if (sessionStartedAt === null || lastSdkContactAt === null) return true
  return Date.parse(received) - Date.parse(lastSdkContactAt) >= SESSION_GAP_MS
}

function touch(user: Activity, received: string): void {
  if (user.lastSdkContactAt === null || received > user.lastSdkContactAt) user.lastSdkContactAt = received
}

/** Adds an occurrence. Outside of a session, the session's count is unchanged. */
function withOne(before: Occurrences | undefined, fact: EventTracked, session: string | null): Occurrences {
  const { total = 0, latest = [], sessionStartedAt = null, sessionCount = 0 } = before ?? {}
  const { missedAt = null, missedReceivedAt = null } = before ?? {}
  const inSession = session !== null && session === sessionStartedAt ? sessionCount + 1 : 1
  return {
    total: total + 1,
    latest: withLatest(latest, fact),
    sessionStartedAt: session ?? sessionStartedAt,
    sessionCount: session === null ? sessionCount : inSession,
    missedAt: fact.evaluateTriggers ? missedAt : fact.occurredAt,
    missedReceivedAt: fact.evaluateTriggers ? missedReceivedAt : fact.received,
  }
}
