import type { ParsedBatch } from '../bodies/batch-body.ts'
import type { FieldPolicy } from '../bodies/choose-fields.ts'
import { isJsonObject, type JsonObject, memberOf } from '../bodies/json-object.ts'
import { checkDepth, checkStrings } from '../bodies/parse-json.ts'
import { reject, type Rejection } from '../bodies/rejection.ts'
import { instantOf } from '../occurred-at.ts'
import { deviceInfoOf } from './segment-context.ts'
import { SEGMENT_LIMITS, SEGMENT_RULES } from './segment-rules.ts'
import { traitsOf } from './segment-traits.ts'

/** Types that are accepted and have no meaning here. */
const IGNORED_TYPES: readonly unknown[] = ['page', 'screen', 'group', 'alias']

/** When a request was sent, by its caller's clock, and received, by ours. */
export interface SegmentClock {
  readonly sentAt: unknown
  readonly receivedMs: number
}

interface RecordableMessage {
  readonly identify: JsonObject
  /** What stays the same when a library sends the message again, as JSON. */
  readonly content: string
}

/** A message as the body of a single route. Both members of a track: its user may have to be identified first. */
export type SegmentMessage =
  | (RecordableMessage & { readonly outcome: 'identify'; readonly droppedTraits: number })
  | (RecordableMessage & { readonly outcome: 'track'; readonly track: JsonObject })
  /** Nothing that Nextvisit keeps: an anonymous user, or a type without a meaning here. */
  | { readonly outcome: 'ignored'; readonly reason: 'anonymous' | 'type' }
  | Rejection

/** The body of many messages as a whole. Each is checked alone, by {@link parseSegmentMessage}. */
export function parseSegmentBatch(body: JsonObject): ParsedBatch {
  const items = memberOf(body, 'batch')
  if (!Array.isArray(items) || items.length > SEGMENT_LIMITS.batchMessages) return reject(SEGMENT_RULES.batch)
  return { outcome: 'ok', items }
}

/** One message of Segment's HTTP API (decisions.md, Segment's API). `type` is the route's, or the message's own. */
export function parseSegmentMessage(
  message: unknown,
  type: unknown,
  clock: SegmentClock,
  project: Pick<FieldPolicy, 'allowedFields'>,
): SegmentMessage {
  if (!isJsonObject(message)) return reject(SEGMENT_RULES.message)
  // The depth first, then the size: what all the rest costs is bounded by them.
  const tooDeep = checkDepth(message)
  if (tooDeep) return tooDeep
  const { content, bytes } = contentOf(message)
  if (bytes > SEGMENT_LIMITS.messageBytes) return reject(SEGMENT_RULES.messageBytes)
  const notStorable = checkStrings(message)
  if (notStorable) return notStorable
  if (IGNORED_TYPES.includes(type)) return { outcome: 'ignored', reason: 'type' }
  if (type !== 'identify' && type !== 'track') return reject(SEGMENT_RULES.messageType)
  if (isInexact(memberOf(message, 'messageId'))) return reject(SEGMENT_RULES.messageIdNumber)
  if (isInexact(memberOf(message, 'userId'))) return reject(SEGMENT_RULES.userIdNumber)
  const userName = userNameOfUserId(memberOf(message, 'userId'))
  if (userName === undefined) {
    if (memberOf(message, 'anonymousId') === undefined) return reject(SEGMENT_RULES.messageUser)
    return { outcome: 'ignored', reason: 'anonymous' }
  }
  const identify = { userName, $deviceInfo: deviceInfoOf(memberOf(message, 'context')) }
  if (type === 'track') return { outcome: 'track', identify, track: trackOf(userName, message, clock), content }
  const { $set, dropped } = traitsOf(memberOf(message, 'traits'), project)
  return { outcome: 'identify', identify: { ...identify, userAttributes: { $set } }, droppedTraits: dropped, content }
}

/** The userName that a `userId` is. Some libraries send numbers. An empty one is none. */
export function userNameOfUserId(userId: unknown): unknown {
  if (Number.isSafeInteger(userId)) return String(userId)
  return userId === '' ? undefined : userId
}

/** A number that may not be the one that was sent: JSON.parse rounds, so two ids could become one. */
function isInexact(id: unknown): boolean {
  return typeof id === 'number' && !Number.isSafeInteger(id)
}

/** As JSON, without `sentAt`, which differs each time, and what a route may say in its place. `bytes`: of the whole message. */
function contentOf({ sentAt, writeKey, type, ...rest }: JsonObject): { content: string; bytes: number } {
  const [content, leftOut] = [JSON.stringify(rest), JSON.stringify({ sentAt, writeKey, type })]
  // Two objects as one: a comma in place of the braces between them, unless one is empty.
  const isOneEmpty = content === '{}' || leftOut === '{}'
  return { content, bytes: Buffer.byteLength(content) + Buffer.byteLength(leftOut) - (isOneEmpty ? 2 : 1) }
}

/** RudderStack's libraries say when in `originalTimestamp`, and a caller in `timestamp`, as in Segment's. */
function timeOf(message: JsonObject): unknown {
  const original = memberOf(message, 'originalTimestamp')
  // A caller does not write it, so one that is no time refuses nothing.
  const isTime = typeof original === 'string' && instantOf(original) !== undefined
  return memberOf(message, 'timestamp') ?? (isTime ? original : undefined)
}

function trackOf(userName: unknown, message: JsonObject, clock: SegmentClock): JsonObject {
  return {
    userName,
    eventName: memberOf(message, 'event'),
    properties: memberOf(message, 'properties'),
    occurredAt: correctedBy(clock, timeOf(message)),
  }
}

/** What the caller's clock is ahead or behind is taken off. A time that is no time is left to the rules of the body. */
function correctedBy({ sentAt, receivedMs }: SegmentClock, timestamp: unknown): unknown {
  const [timestampMs, sentMs] = [timestamp, sentAt].map((time) =>
    typeof time === 'string' ? instantOf(time) : undefined,
  )
  if (timestampMs === undefined || sentMs === undefined) return timestamp
  return new Date(timestampMs + receivedMs - sentMs).toISOString()
}
