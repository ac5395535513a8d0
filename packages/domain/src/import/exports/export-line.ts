import {
  type DeviceFacts,
  type DeviceField,
  isStorable,
  mayHoldUnstorable,
  type TraitValue,
} from '@nextvisit/contracts'
import { BODY_RULES } from '../../bodies/body-rules.ts'
import { checkDeviceValue } from '../../bodies/device-info.ts'
import { isJsonObject, type JsonObject } from '../../bodies/json-object.ts'
import { isDeeperThan } from '../../bodies/parse-json.ts'
import { nameRules, reject, type Rejection } from '../../bodies/rejection.ts'
import type { ProjectPolicy } from '../../project-policy.ts'
import { markInexactNumbers } from '../../bodies/mark-inexact-numbers.ts'
import { parseInstant } from '../../time/parse-instant.ts'
import { IMPORT_RULES, MAX_EXPORT_DEPTH } from '../import-rules.ts'

/** The facts of a line about its user, as of `atMs`. */
export interface ExportedUser {
  readonly userName: string
  /** undefined: the facts are the present ones, and no instant is known. */
  readonly atMs: number | undefined
  /** When the product first saw the user, if the line says so. */
  readonly createdMs?: number | undefined
  /** Traits of which the newest value counts. */
  readonly set: Readonly<Record<string, TraitValue>>
  /** Traits of which the oldest value counts, if nothing sets them. */
  readonly setOnce: Readonly<Record<string, TraitValue>>
  readonly device: DeviceFacts
  /** Number of traits of the line that no trait can hold. */
  readonly droppedTraits: number
}

/** A line of another product's export in our words. */
export type ExportLine =
  | {
      readonly outcome: 'ok'
      readonly user: ExportedUser
      /** The line as a track line of our own format, unchecked. Absent: the line tells only about its user. */
      readonly track?: JsonObject | undefined
    }
  /** Nextvisit keeps nothing of the line. */
  | { readonly outcome: 'skipped'; readonly reason: SkipReason }
  | Rejection

/** The reasons for which a line is skipped, and what each means for a reader. */
export const SKIP_REASONS = {
  anonymous: 'events of anonymous users',
  automatic: 'page views, screens, groups and aliases',
} as const
export type SkipReason = keyof typeof SKIP_REASONS

/** The rules for a line of an export, before it becomes a line of our own format. */
export const EXPORT_RULES = nameRules({
  member: (member: string, kind: string) => ({ message: `${member} must be ${kind}` }),
  time: (member: string) => ({ message: `${member} must be a date and time, such as 2026-01-31T09:30:00.000Z` }),
  unixTime: (member: string) => ({ message: `${member} must be a Unix time in seconds or milliseconds` }),
  notJson: (member: string) => ({ message: `${member} begins with { but is not valid JSON` }),
  manyTraits: (member: string, most: number) => ({ message: `${member} must have at most ${most} values` }),
})

/** The settings of an import that a line is read by. */
export interface ExportSettings {
  readonly project: Pick<ProjectPolicy, 'allowedFields'>
  /** Time zone of times that are written without one, as an IANA name. */
  readonly timeZone: string
  readonly receivedMs: number
}

/** Reads a line of an export. Only members that the product documents are read. */
export type ReadExportLine = (line: JsonObject, settings: ExportSettings) => ExportLine

/**
 * Parses a date and time that may lack the `T` and the time zone; without a zone it is UTC. ±Infinity: a year that is negative
 * or has more than four digits. undefined: it is none.
 */
export function parseExportedTime(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  const text = value
    .trim()
    .replace(/^(\d{4}-\d\d-\d\d) /, '$1T')
    .replace(/ UTC$/, 'Z')
  return parseInstant(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`)
}

/** Parses a time that a user may lack. As in a file of our own format, a time before 1970 means a missing one. */
export function parseTimeOfUser(value: unknown): number | undefined {
  const atMs = parseExportedTime(value) ?? Number.NaN
  return atMs >= 0 && Number.isFinite(atMs) ? atMs : undefined
}

type ParsedObjects<Member extends string> =
  | { readonly outcome: 'ok'; readonly objects: { readonly [Name in Member]: JsonObject | undefined } }
  | Rejection

/**
 * Returns the objects in these members. An object may be JSON text, as in some exports. Such a text has the limits of the
 * line, which was checked only around it. undefined: neither an object nor text that begins with `{`.
 */
export function parseObjects<Member extends string>(given: Readonly<Record<Member, unknown>>): ParsedObjects<Member> {
  const objects: Partial<Record<Member, JsonObject | undefined>> = {}
  for (const member of Object.keys(given) as Member[]) {
    const parsed = parseObject(member, given[member])
    if (parsed.outcome === 'rejected') return parsed
    objects[member] = parsed.object
  }
  return { outcome: 'ok', objects: objects as Record<Member, JsonObject | undefined> }
}

function parseObject(
  member: string,
  value: unknown,
): { readonly outcome: 'ok'; readonly object: JsonObject | undefined } | Rejection {
  if (isJsonObject(value)) return { outcome: 'ok', object: value }
  if (typeof value !== 'string' || !/^\s*\{/.test(value)) return { outcome: 'ok', object: undefined }
  // Before JSON.parse: functions that recurse over a deep value could overflow the stack.
  if (isDeeperThan(value, MAX_EXPORT_DEPTH)) return reject(IMPORT_RULES.exportDepth(member))
  const object = objectIn(value)
  if (!object) return reject(EXPORT_RULES.notJson(member))
  if (mayHoldUnstorable(value) && !isStorable(object)) return reject(BODY_RULES.notStorable(member))
  return { outcome: 'ok', object }
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const parsed: unknown = JSON.parse(markInexactNumbers(text))
    return isJsonObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** Returns the members that the customer has named: products add others, whose names begin with a `prefix`. */
export function membersWithout(object: JsonObject | undefined, isOfProduct: (name: string) => boolean): JsonObject {
  const kept = Object.entries(object ?? {}).filter(([name]) => !isOfProduct(name))
  return Object.fromEntries(kept)
}

/** Returns the device facts that the device table allows. Products collect them, not customers, so others are dropped. */
export function deviceFactsOf(given: Partial<Record<DeviceField, unknown>>): DeviceFacts {
  return Object.fromEntries(
    Object.entries(given).flatMap(([field, value]) => {
      const checked = checkDeviceValue(field as DeviceField, value, field)
      return checked.outcome === 'ok' ? [[field, checked.value]] : []
    }),
  )
}
