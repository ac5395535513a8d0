import type { FetchedRecord } from '@nextvisit/log'
import type { FormFact, UserFact } from './facts.ts'

type Json = Readonly<Record<string, unknown>>
type Check = (value: unknown) => boolean

export type Reading<Fact> =
  | { readonly outcome: 'read'; readonly fact: Fact }
  | { readonly outcome: 'unreadable'; readonly because: string }

const text: Check = (value) => typeof value === 'string'
const bool: Check = (value) => typeof value === 'boolean'
const whole: Check = (value) => Number.isSafeInteger(value)
const texts: Check = (value) => Array.isArray(value) && value.every(text)
const matching =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value)
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)
const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value)
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const objectOf =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check)

const uuid = matching(/^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i)
const id = matching(/^[a-z0-9-]{1,63}$/)
const instant: Check = (value) =>
  matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)(value) && !Number.isNaN(Date.parse(String(value)))
const finite: Check = (value) => typeof value === 'number' && Number.isFinite(value)
const scalar: Check = (value) => value === null || text(value) || bool(value) || finite(value)
const traitValue: Check = (value) => scalar(value) || (Array.isArray(value) && value.every(scalar))

const operations: Check = (value) =>
  fits(value, {
    set: optional(objectOf(traitValue)),
    setOnce: optional(objectOf(traitValue)),
    increment: optional(objectOf(finite)),
    decrement: optional(objectOf(finite)),
    unset: optional(texts),
  })

const ofUser = { id: uuid, organization: id, project: id, userId: uuid, received: instant }
const ofCaller = {
  ...ofUser,
  environment: oneOf('P', 'T'),
  source: oneOf('admin', 'sdk'),
  keyed: bool,
  unchecked: texts,
  imported: optional(oneOf(true)),
}
const ofForm = { id: uuid, organization: id, project: id, userId: uuid, queuedId: uuid, formId: id, at: instant }

type Members = Readonly<Record<string, Check>>
const USER_FACTS: Readonly<Record<UserFact['type'], Members>> = {
  IdentifyRequested: {
    ...ofCaller,
    userName: text,
    traits: texts,
    operations,
    device: objectOf(text),
    registeredTraits: texts,
    strippedTraits: texts,
    droppedTraits: texts,
    filteredFields: texts,
    invalidDeviceFields: optional(texts),
    occurredAt: optional(instant),
  },
  EventTracked: {
    ...ofCaller,
    eventName: text,
    slug: text,
    occurredAt: instant,
    newEvent: bool,
    metered: bool,
    evaluateTriggers: bool,
    properties: optional(isObject),
    filteredFields: optional(texts),
    countsFor: optional(texts),
  },
  VisitAnswered: { ...ofUser, visitId: uuid, formId: id, queuedId: uuid },
}
const FORM_FACTS: Readonly<Record<FormFact['type'], Members>> = {
  FormQueued: {
    ...ofForm,
    causeId: uuid,
    priority: whole,
    showFrom: instant,
    expiresAt: optional(instant),
    catalogRevision: whole,
  },
  FormDelivered: { ...ofForm, visitId: uuid },
  FormCancelled: ofForm,
  FormExpired: ofForm,
}

/** The types with personal members have the second version of their schema. */
const SEALED_TYPES: ReadonlySet<unknown> = new Set(['IdentifyRequested', 'EventTracked'])

type Message = Pick<FetchedRecord, 'value' | 'headers'>

export function readUserFact(message: Message): Reading<UserFact> {
  return readFact(message, USER_FACTS)
}

export function readFormFact(message: Message): Reading<FormFact> {
  return readFact(message, FORM_FACTS)
}

/**
 * Parses a record, or returns why it is unreadable. Consumers store unreadable records as dead letters
 * (design.md, The log).
 */
function readFact<Fact extends { readonly type: string }>(
  { value, headers }: Message,
  types: Readonly<Record<Fact['type'], Members>>,
): Reading<Fact> {
  if (value === null) return unreadable('it has no value')
  const written = value.toString('utf8')
  const json = parse(written)
  if (!isObject(json)) return unreadable('it is not a JSON object')
  const members = new Map<unknown, Members>(Object.entries(types)).get(json['type'])
  if (!members) return unreadable('its type is unknown')
  const version = SEALED_TYPES.has(json['type']) ? '2' : '1'
  if (headers['schema-version'] !== version) return unreadable(`its schema-version is not ${version}`)
  const wrong = Object.entries(members).find(([name, check]) => !check(json[name]))
  if (wrong) return unreadable(`its ${wrong[0]} is invalid`)
  if (mayBeUnstorable.test(written) && !isStorable(json)) {
    return unreadable('it contains U+0000 or a lone surrogate, or is nested too deeply to check')
  }
  return { outcome: 'read', fact: json as Fact }
}

function fits(value: unknown, members: Members): boolean {
  return isObject(value) && Object.entries(members).every(([name, check]) => check(value[name]))
}

/** Matches escapes of unstorable characters. A text without such an escape is storable, however deep it is nested. */
const mayBeUnstorable = /\\u(0000|d[89a-f])/i

function isStorable(json: unknown): boolean {
  try {
    return isEachStorable(json)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

function isEachStorable(json: unknown): boolean {
  if (typeof json === 'string') return json.isWellFormed() && !json.includes('\u0000')
  if (typeof json !== 'object' || json === null) return true
  return Object.entries(json).flat().every(isEachStorable)
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

function unreadable(because: string): Reading<never> {
  return { outcome: 'unreadable', because }
}
