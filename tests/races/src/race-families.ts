import type { TopicRecord } from '@nextvisit/testing/black-box'
import type { Caller } from './caller.ts'

/** Room under every limit. */
export const LIMIT = 20
/** Parallel requests of one race. */
export const REQUESTS = 200
/** Users that are identified before the race. Half of them are used before the fault, half after it. */
export const USERS = 20

type Value = TopicRecord['value']

/** One limit that requests race for. */
export interface RaceFamily {
  readonly id: string
  readonly limit: string
  readonly plan: Readonly<Record<string, number>>
  /** The counter in `GET /v2/admin/usage`. */
  readonly counter: 'monthlyActiveUsers' | 'events' | 'uniqueEvents' | 'uniqueTraits'
  /** The mark in `unchecked` of a record for which this limit was not checked. */
  readonly check: string
  readonly route: Parameters<Caller>[0]
  /** Sends the first event before the race, so that its name is known. */
  readonly isNameKnown?: true
  readonly bodyOf: (sequence: number) => Readonly<Record<string, unknown>>
  /** Statuses without room. Empty for traits: the request passes, and its record lists the stripped traits. */
  readonly refusals: readonly number[]
  /** Number of passes in the first half that use up all room. */
  readonly passesAtLimit: number
  /** The units that a record uses under the limit. */
  readonly unitsOf: (value: Value) => readonly string[]
}

const userOf = (sequence: number) => `user-${(sequence % (USERS / 2)) + (sequence < REQUESTS / 2 ? 0 : USERS / 2)}`
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
    // Each name is sent twice, once through each gateway.
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
    passesAtLimit: REQUESTS / 2,
    unitsOf: (value) => (value['traits'] as readonly string[] | undefined) ?? [],
  },
  {
    // Half of the requests use a name that the cap refuses. They must not use the event limit of the others.
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
