import type { DeviceFacts, DeviceField } from '@nextvisit/contracts'
import type { ParsedBatch } from '../bodies/batch-body.ts'
import type { ProjectPolicy } from '../project-policy.ts'
import { checkDeviceValue } from '../bodies/device-info.ts'
import { isJsonObject, type JsonObject, memberIn, memberOf } from '../bodies/json-object.ts'
import { rangeOfOccurredAt } from '../bodies/occurred-at.ts'
import { checkDepth, checkStrings } from '../bodies/parse-json.ts'
import { reject, type Rejection } from '../bodies/rejection.ts'
import { parseInstant } from '../time/parse-instant.ts'
import { SEGMENT_COM_LIMITS, SEGMENT_COM_RULES } from './segment-com-rules.ts'
import { traitsOf } from './segment-com-traits.ts'

/** Types that are accepted and ignored. */
const IGNORED_TYPES: readonly unknown[] = ['page', 'screen', 'group', 'alias']

/** The time when a request was sent, by its caller's clock, and when it was received, by ours. */
interface SegmentComClock {
  readonly sentAt: unknown
  readonly receivedMs: number
}

interface RecordableMessage {
  readonly identify: JsonObject
  /** The part of the message that is equal when a library sends it again, as JSON. */
  readonly content: string
}

/** A message as the body of a single route. A track also has an identify, because its user may have to be created first. */
type SegmentComMessage =
  | (RecordableMessage & { readonly outcome: 'identify'; readonly droppedTraits: number })
  | (RecordableMessage & { readonly outcome: 'track'; readonly track: JsonObject })
  /** Nextvisit keeps nothing of the message: its user is anonymous, or its type is ignored. */
  | { readonly outcome: 'ignored'; readonly reason: 'anonymous' | 'type' }
  | Rejection

/** Parses the body of a batch. {@link parseSegmentComMessage} parses each message. */
export function parseSegmentComBatch(body: JsonObject): ParsedBatch {
  const items = memberOf(body, 'batch')
  if (!Array.isArray(items) || items.length > SEGMENT_COM_LIMITS.batchMessages) return reject(SEGMENT_COM_RULES.batch)
  return { outcome: 'ok', items }
}

/** Parses one message of Segment's HTTP API (decisions.md, Segment's API). `type` is the route's, or the message's own. */
export function parseSegmentComMessage(
  message: unknown,
  type: unknown,
  clock: SegmentComClock,
  project: Pick<ProjectPolicy, 'allowedFields'>,
): SegmentComMessage {
  if (!isJsonObject(message)) return reject(SEGMENT_COM_RULES.message)
  // Depth and size bound the cost of all other checks.
  const tooDeep = checkDepth(message)
  if (tooDeep) return tooDeep
  const { content, bytes } = contentOf(message)
  if (bytes > SEGMENT_COM_LIMITS.messageBytes) return reject(SEGMENT_COM_RULES.messageBytes)
  const notStorable = checkStrings(message)
  if (notStorable) return notStorable
  if (IGNORED_TYPES.includes(type)) return { outcome: 'ignored', reason: 'type' }
  if (type !== 'identify' && type !== 'track') return reject(SEGMENT_COM_RULES.messageType)
  if (isInexact(memberOf(message, 'messageId'))) return reject(SEGMENT_COM_RULES.messageIdNumber)
  if (isInexact(memberOf(message, 'userId'))) return reject(SEGMENT_COM_RULES.userIdNumber)
  const userName = userNameOfUserId(memberOf(message, 'userId'))
  if (userName === undefined) {
    if (memberOf(message, 'anonymousId') === undefined) return reject(SEGMENT_COM_RULES.messageUser)
    return { outcome: 'ignored', reason: 'anonymous' }
  }
  const identify = { userName, $deviceInfo: deviceInfoOf(memberOf(message, 'context')) }
  if (type === 'track') return { outcome: 'track', identify, track: trackOf(userName, message, clock), content }
  const sources = [
    { member: 'traits', traits: memberOf(message, 'traits') },
    // Where RudderStack's libraries for Python and Ruby send all of them.
    { member: 'context.traits', traits: memberIn(memberOf(message, 'context'), 'traits') },
  ]
  const traits = traitsOf(sources, project)
  if (traits.outcome === 'rejected') return traits
  const { $set, dropped } = traits
  return { outcome: 'identify', identify: { ...identify, userAttributes: { $set } }, droppedTraits: dropped, content }
}

/** Converts a `userId` to a userName. Some libraries send numbers. undefined: the id is empty. */
export function userNameOfUserId(userId: unknown): unknown {
  if (Number.isSafeInteger(userId)) return String(userId)
  return userId === '' ? undefined : userId
}

/** Returns whether JSON.parse may have rounded a number, so that two ids could become one. */
function isInexact(id: unknown): boolean {
  return typeof id === 'number' && !Number.isSafeInteger(id)
}

/** Returns the message as JSON without `sentAt`, which differs each time, `writeKey` and `type`; and the size of all of it. */
function contentOf({ sentAt, writeKey, type, ...rest }: JsonObject): { content: string; bytes: number } {
  const [content, leftOut] = [JSON.stringify(rest), JSON.stringify({ sentAt, writeKey, type })]
  // In one object, a comma would replace the two braces between them, unless one is empty.
  const isOneEmpty = content === '{}' || leftOut === '{}'
  return { content, bytes: Buffer.byteLength(content) + Buffer.byteLength(leftOut) - (isOneEmpty ? 2 : 1) }
}

/** Returns the time of a message: `timestamp`, or `originalTimestamp` as RudderStack's libraries send it. */
function timeOf(message: JsonObject): unknown {
  const original = memberOf(message, 'originalTimestamp')
  // Libraries write `originalTimestamp`, so an invalid one is ignored.
  const isTime = typeof original === 'string' && parseInstant(original) !== undefined
  return memberOf(message, 'timestamp') ?? (isTime ? original : undefined)
}

function trackOf(userName: unknown, message: JsonObject, clock: SegmentComClock): JsonObject {
  return {
    userName,
    eventName: memberOf(message, 'event'),
    properties: memberOf(message, 'properties'),
    occurredAt: correctedBy(clock, timeOf(message)),
  }
}

/**
 * Corrects a timestamp by the error of the caller's clock. A correction that leaves the allowed range is no such error: the
 * caller's device slept between making the request and sending it. The rules of the body check an invalid timestamp.
 */
function correctedBy({ sentAt, receivedMs }: SegmentComClock, timestamp: unknown): unknown {
  const [timestampMs, sentMs] = [timestamp, sentAt].map((time) =>
    typeof time === 'string' ? parseInstant(time) : undefined,
  )
  if (timestampMs === undefined || sentMs === undefined) return timestamp
  const correctedMs = timestampMs + receivedMs - sentMs
  return rangeOfOccurredAt(correctedMs, receivedMs) === 'within' ? new Date(correctedMs).toISOString() : timestamp
}

/** Values of `$deviceOs` by the libraries' names. */
const SYSTEMS: Readonly<Record<string, string>> = {
  ios: 'iOS',
  ipados: 'iOS',
  'iphone os': 'iOS',
  android: 'Android',
  windows: 'Windows',
}

/** Converts `context` to device facts. Values that no device field can hold are dropped: libraries send them, not customers. */
function deviceInfoOf(context: unknown): DeviceFacts {
  const [os, app, device] = ['os', 'app', 'device'].map((part) => memberIn(context, part))
  const system = memberIn(os, 'name')
  const kind = memberIn(device, 'type')
  const fields: readonly (readonly [DeviceField, unknown])[] = [
    ['$deviceLanguage', memberIn(context, 'locale')],
    ['$timezone', memberIn(context, 'timezone')],
    ['$deviceOs', typeof system === 'string' ? SYSTEMS[system.toLowerCase()] : undefined],
    ['$deviceOsVersion', memberIn(os, 'version')],
    ['$app', memberIn(app, 'name')],
    ['$appVersion', memberIn(app, 'version')],
    ['$deviceId', memberIn(device, 'id')],
    ['$deviceType', kind === 'ios' || kind === 'android' ? 'native' : undefined],
  ]
  return Object.fromEntries(
    fields.flatMap(([field, value]) => {
      const checked = checkDeviceValue(field, value, field)
      return checked.outcome === 'ok' ? [[field, checked.value]] : []
    }),
  )
}
