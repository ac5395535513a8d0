import { WebhookEvent } from '@nextvisit/contracts'
import { parseInstant } from '../time/parse-instant.ts'
import { BODY_RULES } from './body-rules.ts'
import { type JsonObject, memberOf } from './json-object.ts'
import { reject, type Rejection } from './rejection.ts'

/** A range of instants, as `Date.toISOString()` writes them. */
export interface WebhookRange {
  readonly from: string
  /** Exclusive. */
  readonly to: string
}

/** The body of `POST /v2/admin/webhooks/{endpointId}/replay`. */
export interface ReplayBody extends WebhookRange {
  /** Absent: the events of the endpoint. */
  readonly events?: readonly WebhookEvent[]
}

/** It begins at midnight UTC, as for the command line. */
const DAY = /^\d{4}-\d\d-\d\d$/

type Parsed<Value> = { readonly outcome: 'ok'; readonly value: Value } | Rejection

/** Parses the range of a retry. It ends now at the latest. */
export function parseRetryBody(body: JsonObject, nowMs: number): Parsed<WebhookRange> {
  const fromMs = instantIn(body, 'from')
  if (fromMs === undefined) return reject(BODY_RULES.firstInstant)
  const toMs = (memberOf(body, 'to') ?? null) === null ? nowMs : instantIn(body, 'to')
  if (toMs === undefined) return reject(BODY_RULES.endInstant)
  // The log has no records of earlier years.
  const [first, end] = [Math.max(0, fromMs), Math.min(toMs, nowMs)]
  if (first >= end) return reject(BODY_RULES.instants)
  return { outcome: 'ok', value: { from: new Date(first).toISOString(), to: new Date(end).toISOString() } }
}

/** Parses the body of a replay. */
export function parseReplayBody(body: JsonObject, nowMs: number): Parsed<ReplayBody> {
  const range = parseRetryBody(body, nowMs)
  if (range.outcome === 'rejected') return range
  const given = memberOf(body, 'events') ?? null
  if (given === null) return range
  const events = WebhookEvent.array().min(1).safeParse(given)
  if (!events.success) return reject(BODY_RULES.webhookEvents)
  return { outcome: 'ok', value: { ...range.value, events: [...new Set(events.data)] } }
}

function instantIn(body: JsonObject, member: string): number | undefined {
  const text = memberOf(body, member)
  if (typeof text !== 'string') return undefined
  return parseInstant(DAY.test(text) ? `${text}T00:00Z` : text)
}
