import { hash } from 'node:crypto'
import { isLongerThan } from '@nextvisit/contracts'
import { BODY_RULES } from '../bodies/body-rules.ts'
import { type IdentifyBody, parseIdentifyBody } from '../bodies/identify-body.ts'
import { type JsonObject, memberOf } from '../bodies/json-object.ts'
import { parseJson } from '../bodies/parse-json.ts'
import { reject, type Rejection } from '../bodies/rejection.ts'
import { parseTrackBody, type TrackBody } from '../bodies/track-body.ts'
import { projectNamespace, uuidV5 } from '../ids.ts'
import { IMPORT_RULES, MAX_LINE_BYTES, MAX_LINE_ID_LENGTH } from './import-rules.ts'
import { parseOccurredAt } from '../bodies/occurred-at.ts'

/** A line of history, which follows the rules of the admin routes' bodies. */
export type ImportLine = (
  | { readonly type: 'identify'; readonly body: IdentifyBody; readonly occurredAt: string | undefined }
  | { readonly type: 'track'; readonly body: TrackBody }
) & {
  /** The id in the file. Lines with the same id are the same line. */
  readonly id: string | undefined
}

export type ParsedImportLine = { readonly outcome: 'ok'; readonly line: ImportLine } | Rejection

/** Parses a line of history: the body of an admin route, its `type` and a time of any age (decisions.md, Import). */
export function parseImportLine(bytes: Uint8Array, receivedMs: number): ParsedImportLine {
  if (bytes.length > MAX_LINE_BYTES) return reject(IMPORT_RULES.lineBytes)
  const parsed = parseJson(bytes, { what: 'The line' })
  return parsed.outcome === 'rejected' ? parsed : checkImportLine(parsed.body, receivedMs)
}

/** Makes the checks of {@link parseImportLine} on the members of a line. */
export function checkImportLine(members: JsonObject, receivedMs: number): ParsedImportLine {
  const id = memberOf(members, 'id')
  if (id !== undefined && (typeof id !== 'string' || id === '' || isLongerThan(id, MAX_LINE_ID_LENGTH)))
    return reject(IMPORT_RULES.lineId)
  switch (memberOf(members, 'type')) {
    case 'identify':
      return parseIdentify(members, id, receivedMs)
    case 'track':
      return parseTrack(members, id, receivedMs)
    default:
      return reject(IMPORT_RULES.lineType)
  }
}

function parseIdentify(members: JsonObject, id: string | undefined, receivedMs: number): ParsedImportLine {
  const parsed = parseIdentifyBody(members)
  if (parsed.outcome === 'rejected') return parsed
  const { value: body } = parsed
  const text = memberOf(members, 'occurredAt')
  if (text === undefined) return { outcome: 'ok', line: { type: 'identify', id, body, occurredAt: undefined } }
  if (typeof text !== 'string') return reject(BODY_RULES.occurredAtType)
  const when = parseOccurredAt(text, receivedMs, maxAgeMsAt(receivedMs))
  if (when.outcome === 'rejected') return inWordsOfImport(when)
  return { outcome: 'ok', line: { type: 'identify', id, body, occurredAt: when.occurredAt } }
}

/** Parses a track line. `occurredAt`, which a live event may omit, is required. */
function parseTrack(members: JsonObject, id: string | undefined, receivedMs: number): ParsedImportLine {
  if (memberOf(members, 'occurredAt') === undefined) return reject(IMPORT_RULES.noOccurredAt)
  const parsed = parseTrackBody(members, receivedMs, maxAgeMsAt(receivedMs))
  if (parsed.outcome === 'rejected') return inWordsOfImport(parsed)
  return { outcome: 'ok', line: { type: 'track', id, body: parsed.value } }
}

/** Returns the age of 1970-01-01. Older times are mostly defaults of a language, such as the year 1. */
function maxAgeMsAt(receivedMs: number): number {
  return receivedMs
}

function inWordsOfImport(rejection: Rejection): Rejection {
  return rejection.reason === BODY_RULES.past.reason ? reject(IMPORT_RULES.tooOld) : rejection
}

/** Returns the identity of a line in hex: a hash of its id, or of its content. Equal lines have equal identities. */
export function identityOfLine(line: ImportLine): string {
  return hash('sha256', JSON.stringify(contentOf(line)))
}

function contentOf({ id, ...line }: ImportLine): readonly unknown[] {
  if (id !== undefined) return [id]
  if (line.type === 'track') {
    const { userName, eventName, occurredAt, properties } = line.body
    return ['track', userName, eventName, occurredAt, ...(properties ? [properties] : [])]
  }
  const { userName, changes, device } = line.body
  return ['identify', userName, line.occurredAt ?? null, changes, device]
}

/**
 * Returns the id of an imported line's record: the same in any file and at any time, so that consumers drop duplicates.
 * `ordinal`: the number of equal lines before it in its file.
 */
export function importedRecordId(
  { organization, project }: { readonly organization: string; readonly project: string },
  identity: string,
  ordinal: number,
): string {
  return uuidV5(`import ${identity} ${ordinal}`, projectNamespace(organization, project))
}
