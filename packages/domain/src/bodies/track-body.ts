import { BODY_LIMITS, isLongerThan } from '@nextvisit/contracts'
import { eventSlug, isReservedEventName } from '../event-slug.ts'
import { isoInstant } from '../time/iso-instant.ts'
import { MAX_EVENT_AGE_MS, type OccurredAt, parseOccurredAt } from './occurred-at.ts'
import { memoize } from '../memoize.ts'
import { BODY_RULES } from './body-rules.ts'
import { parseEventProperties } from './event-properties.ts'
import { reject, type Rejection } from './rejection.ts'
import { type JsonObject, memberOf } from './json-object.ts'
import { checkUserName } from './user-name.ts'

const MAX_KNOWN_NAMES = 10_000
/** Cached: callers send the same few names again and again. */
const slugOf = memoize(MAX_KNOWN_NAMES, eventSlug)

export interface TrackBody {
  readonly userName: string
  readonly eventName: string
  readonly slug: string
  /** ISO instant, UTC. */
  readonly occurredAt: string
  readonly evaluateTriggers: boolean
  readonly userSignature: string | undefined
  /** As given. `applyAllowListToProperties` drops those that the project does not keep. */
  readonly properties: JsonObject | undefined
}

type ParsedTrackBody = { readonly outcome: 'ok'; readonly value: TrackBody } | Rejection

/** Parses the body of a tracked event (contract, Track event; decisions.md, Track event). */
export function parseTrackBody(body: JsonObject, receivedMs: number, maxAgeMs = MAX_EVENT_AGE_MS): ParsedTrackBody {
  const userName = memberOf(body, 'userName')
  const eventName = memberOf(body, 'eventName')
  const rejection = checkUserName(userName) ?? checkEventName(eventName)
  if (rejection) return rejection
  const slug = slugOf(eventName as string)
  if (slug === '') return reject(BODY_RULES.emptySlug)
  const when = occurredAtOf(memberOf(body, 'occurredAt'), receivedMs, maxAgeMs)
  if (when.outcome === 'rejected') return when
  const { occurredAt, evaluateTriggers } = when
  const parsed = parseEventProperties(memberOf(body, 'properties'))
  if (parsed.outcome === 'rejected') return parsed
  const { properties } = parsed
  const userSignature = memberOf(body, 'userSignature')
  if (userSignature !== undefined && typeof userSignature !== 'string') return reject(BODY_RULES.signatureType)
  const [user, event] = [userName as string, eventName as string]
  return {
    outcome: 'ok',
    value: { userName: user, eventName: event, slug, occurredAt, evaluateTriggers, userSignature, properties },
  }
}

/** Returns the time of the event: by default, when it was received. */
function occurredAtOf(text: unknown, receivedMs: number, maxAgeMs: number): OccurredAt {
  if (text === undefined) return { outcome: 'ok', occurredAt: isoInstant(receivedMs), evaluateTriggers: true }
  return typeof text === 'string' ? parseOccurredAt(text, receivedMs, maxAgeMs) : reject(BODY_RULES.occurredAtType)
}

function checkEventName(eventName: unknown): Rejection | undefined {
  if (typeof eventName !== 'string' || eventName === '' || isLongerThan(eventName, BODY_LIMITS.eventNameLength))
    return reject(BODY_RULES.eventName)
  return isReservedEventName(eventName) ? reject(BODY_RULES.systemEvent) : undefined
}
