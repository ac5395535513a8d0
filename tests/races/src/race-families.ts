import type { LedgerEntry, TopicRecord } from '@nextvisit/testing/black-box'

/** Room under every limit that is raced for. */
export const LIMIT = 20
/** Requests of one race, in parallel. */
export const ASKED = 200
/** Identified beforehand; half of them are asked for before a fault strikes, half of them after it. */
export const USERS = 20

type Route = LedgerEntry['route']
type Value = TopicRecord['value']

/** One limit that requests race for. */
export interface RaceFamily {
  readonly id: string
  readonly limit: string
  readonly plan: Readonly<Record<string, number>>
  /** The counter in `GET /v2/admin/usage`. */
  readonly counter: 'monthlyActiveUsers' | 'events' | 'uniqueEvents' | 'uniqueTraits'
  /** How a record says that this limit was not checked. */
  readonly check: string
  readonly route: Route
  /** The first event is sent before the race, so that its name is known. */
  readonly isNameKnown?: true
  readonly bodyOf: (sequence: number) => Readonly<Record<string, unknown>>
  /** Statuses of who finds no room. None for traits: the request passes, and its record says what was stripped. */
  readonly refusals: readonly number[]
  /** Passes that a first half must show before all room is taken. */
  readonly passesAtLimit: number
  /** What a record takes up under the limit. */
  readonly unitsOf: (value: Value) => readonly string[]
}

const userOf = (sequence: number) => `user-${(sequence % (USERS / 2)) + (sequence < ASKED / 2 ? 0 : USERS / 2)}`
const isEvent = (value: Value) => value['type'] === 'EventTracked'
const eventUnits = (value: Value) => (isEvent(value) ? [String(value['id'])] : [])

export const FAMILIES: readonly RaceFamily[] = [
  {
    id: 'mau',
    limit: 'MAU quota',
    plan: { monthlyActiveUsers: LIMIT },
    counter: 'monthlyActiveUsers',
    check: 'mau',
    route: 'identify-user',
    bodyOf: (sequence) => ({ userName: `racer-${sequence}` }),
    refusals: [400],
    passesAtLimit: LIMIT,
    unitsOf: (value) => [String(value['userId'])],
  },
  {
    id: 'events',
    limit: 'event limit',
    plan: { eventsPerMonth: LIMIT },
    counter: 'events',
    check: 'event-limit',
    route: 'track-event',
    bodyOf: (sequence) => ({ userName: userOf(sequence), eventName: 'Raced' }),
    refusals: [402],
    passesAtLimit: LIMIT,
    unitsOf: eventUnits,
  },
  {
    id: 'names',
    limit: 'unique events',
    plan: { uniqueEvents: LIMIT },
    counter: 'uniqueEvents',
    check: 'event-name',
    route: 'track-event',
    // Each name twice, once through each gateway.
    bodyOf: (sequence) => ({ userName: userOf(sequence), eventName: `Name ${Math.floor(sequence / 2)}` }),
    refusals: [400],
    passesAtLimit: 2 * LIMIT,
    unitsOf: (value) => (isEvent(value) ? [String(value['slug'])] : []),
  },
  {
    id: 'traits',
    limit: 'unique traits',
    plan: { uniqueTraits: LIMIT },
    counter: 'uniqueTraits',
    check: 'traits',
    route: 'identify-user',
    bodyOf: (sequence) => ({ userName: userOf(sequence), userAttributes: { $set: { [`trait_${sequence}`]: 'set' } } }),
    refusals: [],
    passesAtLimit: ASKED / 2,
    unitsOf: (value) => Object.keys((value['operations'] as { set?: object } | undefined)?.set ?? {}),
  },
  {
    // Half of them with a name that the cap has no room for: they must not take events from the others.
    id: 'both',
    limit: 'events, cap full',
    plan: { eventsPerMonth: LIMIT, uniqueEvents: 1 },
    counter: 'events',
    check: 'event-limit',
    route: 'track-event',
    isNameKnown: true,
    bodyOf: (sequence) => ({
      userName: userOf(sequence),
      eventName: sequence % 4 < 2 ? 'Known' : `New ${sequence}`,
    }),
    refusals: [400, 402],
    passesAtLimit: LIMIT,
    unitsOf: eventUnits,
  },
]
