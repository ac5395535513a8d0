import { eventSlug, isReservedEventName, parseOccurredAt } from '@nextvisit/domain'
import { type Refusal, refuse } from '../refusal.ts'
import { isLongerThan } from './code-points.ts'
import { type JsonObject, memberOf } from './json-object.ts'
import { checkUserName } from './user-name.ts'

const MAX_NAME_LENGTH = 100

export interface TrackBody {
  readonly userName: string
  readonly eventName: string
  readonly slug: string
  /** ISO instant, UTC. */
  readonly occurredAt: string
  readonly evaluateTriggers: boolean
}

export type ParsedTrackBody = { readonly outcome: 'ok'; readonly value: TrackBody } | Refusal

/** The body of a tracked event (contract, Track event; decisions.md, Track event). */
export function parseTrackBody(body: JsonObject, receivedMs: number): ParsedTrackBody {
  const userName = memberOf(body, 'userName')
  const eventName = memberOf(body, 'eventName')
  const refusal = checkUserName(userName) ?? checkEventName(eventName)
  if (refusal) return refusal
  const slug = eventSlug(eventName as string)
  if (slug === '') return refuse(400, 'eventName must hold at least one letter or digit')
  const text = memberOf(body, 'occurredAt') ?? new Date(receivedMs).toISOString()
  if (typeof text !== 'string') return refuse(400, 'occurredAt must be a string')
  const when = parseOccurredAt(text, receivedMs)
  if (when.outcome === 'rejected') return refuse(400, `occurredAt ${when.reason}`)
  const { occurredAt, evaluateTriggers } = when
  return {
    outcome: 'ok',
    value: { userName: userName as string, eventName: eventName as string, slug, occurredAt, evaluateTriggers },
  }
}

function checkEventName(eventName: unknown): Refusal | undefined {
  if (typeof eventName !== 'string' || eventName === '' || isLongerThan(eventName, MAX_NAME_LENGTH))
    return refuse(400, `eventName must be a string of 1 to ${MAX_NAME_LENGTH} characters`)
  if (isReservedEventName(eventName)) return refuse(400, 'eventName must not begin with form: (names of system events)')
  return undefined
}
