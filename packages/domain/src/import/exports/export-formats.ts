import { hash } from 'node:crypto'
import { BODY_RULES } from '../../bodies/body-rules.ts'
import { type JsonObject, memberIn, memberOf } from '../../bodies/json-object.ts'
import { parseJson } from '../../bodies/parse-json.ts'
import { reject } from '../../bodies/rejection.ts'
import { checkUserName } from '../../bodies/user-name.ts'
import { IMPORT_RULES, MAX_EXPORT_DEPTH, MAX_EXPORT_LINE_BYTES } from '../import-rules.ts'
import type { ExportLine, ExportSettings, ReadExportLine } from './export-line.ts'
import { readAmplitudeLine } from './read-amplitude-line.ts'
import { readMixpanelLine } from './read-mixpanel-line.ts'
import { readPostHogLine } from './read-posthog-line.ts'
import { readSegmentLine } from './read-segment-line.ts'

interface Format {
  readonly product: string
  readonly read: ReadExportLine
  /** The product's names of our members, for messages. */
  readonly words: Readonly<Record<'id' | 'userName' | 'eventName' | 'occurredAt' | 'properties', string>>
  /** Returns whether an object is probably a line of the product's export. */
  readonly isLikely: (line: JsonObject) => boolean
}

const has = (line: unknown, ...names: readonly string[]) => names.every((name) => memberIn(line, name) !== undefined)
const hasAny = (line: unknown, ...names: readonly string[]) => names.some((name) => has(line, name))

const FORMATS = {
  segment: {
    product: 'Segment',
    read: readSegmentLine,
    words: {
      id: 'messageId',
      userName: 'userId',
      eventName: 'event',
      occurredAt: 'timestamp',
      properties: 'properties',
    },
    isLikely: (line) =>
      has(line, 'type') &&
      (hasAny(line, 'anonymousId', 'messageId', 'originalTimestamp') ||
        (has(line, 'userId') && hasAny(line, 'event', 'traits'))),
  },
  mixpanel: {
    product: 'Mixpanel',
    read: readMixpanelLine,
    words: {
      id: 'properties.$insert_id',
      userName: 'properties.distinct_id',
      eventName: 'event',
      occurredAt: 'properties.time',
      properties: 'properties',
    },
    isLikely: (line) =>
      has(line, '$distinct_id', '$properties') ||
      (has(line, 'event') && has(memberOf(line, 'properties'), 'time') && !has(line, 'distinct_id')),
  },
  amplitude: {
    product: 'Amplitude',
    read: readAmplitudeLine,
    words: {
      id: 'uuid',
      userName: 'user_id',
      eventName: 'event_type',
      occurredAt: 'event_time',
      properties: 'event_properties',
    },
    isLikely: (line) => has(line, 'event_type') && hasAny(line, 'event_time', 'amplitude_id', 'user_id', 'device_id'),
  },
  posthog: {
    product: 'PostHog',
    read: readPostHogLine,
    words: {
      id: 'uuid',
      userName: 'distinct_id',
      eventName: 'event',
      occurredAt: 'timestamp',
      properties: 'properties',
    },
    isLikely: (line) => has(line, 'event', 'distinct_id'),
  },
} satisfies Readonly<Record<string, Format>>

export type ExportFormat = keyof typeof FORMATS
export const EXPORT_FORMATS = Object.keys(FORMATS) as readonly ExportFormat[]

/** Returns the format that an object probably has, and the name of its product. undefined: none of them. */
export function likelyFormatOf(
  line: JsonObject,
): { readonly format: ExportFormat; readonly product: string } | undefined {
  const format = EXPORT_FORMATS.find((one) => FORMATS[one].isLikely(line))
  return format && { format, product: FORMATS[format].product }
}

/** Limit of `occurredAt` in ms after now, as for any event. */
const MAX_AHEAD_MS = 5 * 60_000

const DEPTH = { levels: MAX_EXPORT_DEPTH, tooDeep: IMPORT_RULES.exportDepth }

/** Parses a line of another product's export (import-formats.md). Checks the user and the time; the event is unchecked. */
export function parseExportLine(format: ExportFormat, bytes: Uint8Array, settings: ExportSettings): ExportLine {
  if (bytes.length > MAX_EXPORT_LINE_BYTES) return reject(IMPORT_RULES.exportLineBytes)
  const parsed = parseJson(bytes, { what: 'The line', depth: DEPTH })
  return parsed.outcome === 'rejected' ? parsed : readLine(format, parsed.body, settings)
}

function readLine(format: ExportFormat, line: JsonObject, settings: ExportSettings): ExportLine {
  const read = FORMATS[format].read(line, settings)
  if (read.outcome !== 'ok') return inWordsOf(format, read)
  const { user, track } = read
  const { userName, atMs } = user
  const rejection = checkUserName(userName) ?? (atMs === undefined ? undefined : checkTime(atMs, settings.receivedMs))
  if (rejection) return inWordsOf(format, rejection)
  if (track && isRounded(memberOf(track, 'id'))) return reject(BODY_RULES.inexactNumber(FORMATS[format].words.id))
  const members = { userName, occurredAt: atMs === undefined ? undefined : new Date(atMs).toISOString() }
  return { outcome: 'ok', user, track: track && { ...track, ...members, type: 'track', id: lineIdOf(format, track) } }
}

/** Replaces our name of a member at the beginning of a message with the product's. */
export function inWordsOf<Refused extends { readonly outcome: string; readonly message?: string }>(
  format: ExportFormat,
  refused: Refused,
): Refused {
  const { words } = FORMATS[format]
  const message = refused.message?.replace(
    /^(?:userName|eventName|occurredAt|properties)\b/,
    (name) => words[name as keyof typeof words],
  )
  return message === undefined ? refused : { ...refused, message }
}

function checkTime(atMs: number, receivedMs: number) {
  if (atMs < 0) return reject(IMPORT_RULES.tooOld)
  return atMs - receivedMs > MAX_AHEAD_MS ? reject(BODY_RULES.ahead) : undefined
}

/** Returns whether an id has a number that JSON.parse would have rounded: two events could have the same one. */
function isRounded(id: unknown): boolean {
  return [id].flat().some((part) => typeof part === 'number' && !Number.isFinite(part))
}

/** Returns the id of a line: of each product, its events have ids of their own. undefined: the line has none. */
function lineIdOf(format: ExportFormat, { id }: JsonObject): string | undefined {
  if (id === undefined || id === '') return undefined
  return hash('sha256', JSON.stringify([format, id]), 'base64url')
}
