import { isJsonObject, type JsonObject, likelyFormatOf, memberIn, memberOf } from '@nextvisit/domain'
import { isNearly, plain } from '../is-nearly.ts'
import type { LineFormat } from './line-format.ts'

/** Top-level members of both kinds of line (decisions.md, Import). */
const MEMBERS = [
  'type',
  'id',
  'userName',
  'userAttributes',
  '$deviceInfo',
  'userSignature',
  'eventName',
  'occurredAt',
  'properties',
] as const
type Member = (typeof MEMBERS)[number]
type Meant = readonly [given: string, meant: Member]

/** Other products' names of our members. */
const SYNONYMS: ReadonlyMap<string, Member> = new Map(
  Object.entries({
    userid: 'userName',
    distinctid: 'userName',
    event: 'eventName',
    eventtype: 'eventName',
    eventtime: 'occurredAt',
    time: 'occurredAt',
    timestamp: 'occurredAt',
    originaltimestamp: 'occurredAt',
    traits: 'userAttributes',
    userproperties: 'userAttributes',
    eventproperties: 'properties',
    messageid: 'id',
    insertid: 'id',
    uuid: 'id',
  } as const),
)

/** Properties of Mixpanel's events that are members of ours. */
const INNER_SYNONYMS = { distinct_id: 'userName', time: 'occurredAt' } as const satisfies Record<string, Member>

/** Unknown members of a line that are looked at. A line may have thousands. */
const MAX_UNKNOWN = 20
/** A longer name is no misspelt one. */
const MAX_NAME_LENGTH = 32

/**
 * Returns hints about a refused line: unknown members that resemble known ones (`"usrName": did you mean userName?`), and the
 * `--format` that the line probably has.
 */
export function misspeltMembers(bytes: Uint8Array): readonly string[] {
  const line = objectIn(bytes)
  if (!line) return []
  const given = new Set(Object.keys(line))
  const missing = MEMBERS.filter((known) => !given.has(known))
  const unknown = [...given].filter((name) => !MEMBERS.some((known) => known === name)).slice(0, MAX_UNKNOWN)
  const outer = unknown.flatMap((name): Meant[] => {
    const meant = meantBy(name, missing)
    return meant === undefined ? [] : [[name, meant]]
  })
  const inner = Object.entries(INNER_SYNONYMS).flatMap(([name, meant]): Meant[] =>
    missing.includes(meant) && memberIn(line['properties'], name) !== undefined ? [[`properties.${name}`, meant]] : [],
  )
  const hints = [...outer, ...inner].map(
    ([name, meant]) => `unknown member ${JSON.stringify(name)}: did you mean ${meant}?`,
  )
  return [...hints, ...otherFormat(bytes)]
}

/** Returns a hint if a refused line probably has another format than the given one. */
export function otherFormat(bytes: Uint8Array, format?: LineFormat): readonly string[] {
  const line = objectIn(bytes)
  if (!line) return []
  if (format && memberOf(line, 'userName') !== undefined) return ['the line looks like one of our own: omit --format']
  const likely = likelyFormatOf(line)
  if (!likely || likely.format === format) return []
  return [`the line looks like an export of ${likely.product}: try --format ${likely.format}`]
}

function meantBy(name: string, missing: readonly Member[]): Member | undefined {
  if (name.length > MAX_NAME_LENGTH) return undefined
  const synonym = SYNONYMS.get(plain(name))
  if (synonym) return missing.includes(synonym) ? synonym : undefined
  return missing.find((known) => isNearly(name, known))
}

function objectIn(bytes: Uint8Array): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
