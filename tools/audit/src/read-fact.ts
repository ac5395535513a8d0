import type { FetchedRecord } from '@nextvisit/log'
import type { ClearFact, DecidedFact, ErasureFact } from './facts.ts'

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
const absent: Check = (value) => value === undefined
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

const choice: Check = (value) =>
  text(value) || (isObject(value) && Object.keys(value).join() === 'other' && text(value['other']))
const answerValue: Check = (value) =>
  finite(value) || bool(value) || choice(value) || (Array.isArray(value) && value.every(choice))

const sealed: Check = (value) => fits(value, { key: uuid, bytes: text })

const ofUser = { id: uuid, organization: id, project: id, userId: uuid, received: instant }
const ofRequest = {
  ...ofUser,
  environment: oneOf('P', 'T'),
  source: oneOf('admin', 'sdk'),
  keyed: bool,
  unchecked: texts,
}
const answer = {
  revision: (value: unknown) => whole(value) && Number(value) >= 1,
  status: oneOf('partial', 'finished', 'dismissed'),
  language: optional(text),
  elements: objectOf(oneOf('nps', 'text', 'rating', 'choice', 'choices', 'consent')),
  sealed,
  answers: absent,
}
const ofCaller = { ...ofRequest, imported: optional(oneOf(true)) }
const ofSegment = {
  id: uuid,
  organization: id,
  project: id,
  userId: uuid,
  segmentId: id,
  at: instant,
  cause: oneOf('record', 'time', 'definition'),
  causeId: optional(uuid),
  causeOffset: (value: unknown) => whole(value) && Number(value) >= 0,
  catalogRevision: whole,
}
const ofForm = { id: uuid, organization: id, project: id, userId: uuid, queuedId: uuid, formId: id, at: instant }

/** Of a fact that follows the `FormQueued` of its row. */
const ofRow = { ...ofForm, causeId: optional(uuid), causeOffset: optional(whole) }

const shown = {
  visitId: uuid,
  environment: oneOf('P', 'T'),
  revision: optional((value: unknown) => whole(value) && Number(value) >= 1),
  language: optional(text),
}

type Members = Readonly<Record<string, Check>>
interface RecordType {
  readonly version: string
  readonly members: Members
}
const USER_FACTS: Readonly<Record<ClearFact['type'], RecordType>> = {
  IdentifyRequested: {
    version: '2',
    members: {
      ...ofCaller,
      traits: texts,
      registeredTraits: texts,
      strippedTraits: texts,
      droppedTraits: texts,
      filteredFields: texts,
      invalidDeviceFields: optional(texts),
      occurredAt: optional(instant),
      sealed,
      userName: absent,
      operations: absent,
      device: absent,
    },
  },
  EventTracked: {
    version: '2',
    members: {
      ...ofCaller,
      eventName: text,
      slug: text,
      occurredAt: instant,
      newEvent: bool,
      metered: bool,
      evaluateTriggers: bool,
      filteredFields: optional(texts),
      countsFor: optional(texts),
      sealed: optional(sealed),
      properties: absent,
    },
  },
  AnswerGiven: {
    version: '1',
    members: {
      ...ofRequest,
      offerId: uuid,
      formId: id,
      ...answer,
    },
  },
  VisitAnswered: { version: '1', members: { ...ofUser, ...shown, formId: id, queuedId: uuid } },
  UserErased: { version: '1', members: { ...ofUser, erasureId: uuid, keysUntil: instant } },
}
/** The sealed members, by type of record. */
const SEALED_MEMBERS = {
  IdentifyRequested: { userName: text, operations, device: objectOf(text) },
  EventTracked: { properties: isObject },
  AnswerGiven: { answers: objectOf(answerValue) },
  FormAnswered: { answers: objectOf(answerValue) },
} satisfies Readonly<Record<string, Members>>
const FORM_FACTS: Readonly<Record<DecidedFact['type'], RecordType>> = {
  FormQueued: {
    version: '1',
    members: {
      ...ofForm,
      environment: oneOf('P', 'T'),
      causeId: uuid,
      causeOffset: optional(whole),
      priority: whole,
      showFrom: instant,
      expiresAt: optional(instant),
      catalogRevision: whole,
    },
  },
  FormDelivered: { version: '1', members: { ...ofRow, ...shown } },
  FormCancelled: { version: '1', members: ofRow },
  FormExpired: { version: '1', members: ofRow },
  FormAnswered: {
    version: '1',
    members: { ...ofRow, outcome: oneOf('recorded', 'late', 'unmatched'), environment: oneOf('P', 'T'), ...answer },
  },
  QueueErased: {
    version: '1',
    members: {
      id: uuid,
      organization: id,
      project: id,
      userId: uuid,
      at: instant,
      erasureId: uuid,
      causeOffset: optional(whole),
      keysUntil: instant,
    },
  },
  SegmentEntered: { version: '1', members: ofSegment },
  SegmentLeft: { version: '1', members: ofSegment },
}

const ofErasure = { id: uuid, organization: id, project: id }
const ERASURE_FACTS: Readonly<Record<ErasureFact['type'], RecordType>> = {
  ErasureRequested: {
    version: '1',
    members: {
      ...ofErasure,
      received: instant,
      newestKeyAt: optional(instant),
      userIds: (value) => Array.isArray(value) && value.length > 0 && value.length <= 1_000 && value.every(uuid),
      unknown: whole,
      suppress: bool,
    },
  },
  ErasureCompleted: { version: '1', members: { ...ofErasure, erasureId: uuid, at: instant, receipt: text } },
  SuppressionLifted: { version: '1', members: { ...ofErasure, userId: uuid, received: instant } },
}

const UNSTORABLE = unreadable('it contains U+0000 or a lone surrogate, or is nested too deeply to check')

type Message = Pick<FetchedRecord, 'value' | 'headers'>

export function readUserFact(message: Message): Reading<ClearFact> {
  return readFact(message, USER_FACTS)
}

export function readFormFact(message: Message): Reading<DecidedFact> {
  return readFact(message, FORM_FACTS)
}

export function readErasureFact(message: Message): Reading<ErasureFact> {
  return readFact(message, ERASURE_FACTS)
}

/** Parses the opened members of a record. */
export function readSealedMembers(type: keyof typeof SEALED_MEMBERS, written: string): Reading<object> {
  const json = parse(written)
  if (!isObject(json)) return unreadable('its sealed text is not a JSON object')
  const members = SEALED_MEMBERS[type]
  const wrong = wrongMember(json, members)
  if (wrong !== undefined) return unreadable(`its ${wrong} is invalid`)
  if (mayBeUnstorable.test(written) && !isStorable(json)) return UNSTORABLE
  return { outcome: 'read', fact: Object.fromEntries(Object.keys(members).map((name) => [name, json[name]])) }
}

/**
 * Parses a record, or returns why it is unreadable. Consumers store unreadable records as dead letters
 * (design.md, The log).
 */
function readFact<Fact extends { readonly type: string }>(
  { value, headers }: Message,
  types: Readonly<Record<Fact['type'], RecordType>>,
): Reading<Fact> {
  if (value === null) return unreadable('it has no value')
  const written = value.toString('utf8')
  const json = parse(written)
  if (!isObject(json)) return unreadable('it is not a JSON object')
  const type = new Map<unknown, RecordType>(Object.entries(types)).get(json['type'])
  if (!type) return unreadable('its type is unknown')
  const { version, members } = type
  if (headers['schema-version'] !== version) return unreadable(`its schema-version is not ${version}`)
  const wrong = wrongMember(json, members)
  if (wrong !== undefined) return unreadable(`its ${wrong} is invalid`)
  return mayBeUnstorable.test(written) && !isStorable(json) ? UNSTORABLE : { outcome: 'read', fact: json as Fact }
}

function wrongMember(json: Json, members: Members): string | undefined {
  return Object.entries(members).find(([name, check]) => !check(json[name]))?.[0]
}

function fits(value: unknown, members: Members): boolean {
  return isObject(value) && wrongMember(value, members) === undefined
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

function unreadable(because: string): { readonly outcome: 'unreadable'; readonly because: string } {
  return { outcome: 'unreadable', because }
}
