import { createHash, randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { KNOWN_FIELDS } from '../src/device-info.ts'
import type { AnsweredElements, Answers } from '../src/records/answer-value.ts'
import type {
  FormAnswered,
  FormCancelled,
  FormDelivered,
  FormExpired,
  FormQueued,
  QueueErased,
  SegmentEntered,
  SegmentLeft,
} from '../src/records/form-events.ts'
import type { TraitOperations } from '../src/records/traits.ts'
import type {
  AnswerGiven,
  EventTracked,
  IdentifyRequested,
  UserErased,
  VisitAnswered,
} from '../src/records/user-events.ts'
import { OrganizationConfig } from '../src/workspace/organization-config.ts'

/** Fixtures of records. Each function returns a valid fact, and its argument overrides members. */

const INSTANT = '2026-11-02T10:00:00.000Z'

function stableUuid(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Returns equal ids for equal names. A replacement for the real derivation. */
export function userIdFixture(userName: string): string {
  return stableUuid(`user/${userName}`)
}

function common(userName: string) {
  return {
    id: randomUUID(),
    organization: 'acme',
    project: 'shop',
    userId: userIdFixture(userName),
    received: INSTANT,
    environment: 'P' as const,
    source: 'admin' as const,
    keyed: false,
    unchecked: [],
  }
}

export function identifyRequested(special: Partial<IdentifyRequested> = {}): IdentifyRequested {
  const { userName = 'ada', operations = {} } = special
  return {
    type: 'IdentifyRequested',
    ...common(userName),
    userName,
    traits: traitsOf(operations),
    operations,
    device: {},
    registeredTraits: [],
    strippedTraits: [],
    droppedTraits: [],
    filteredFields: [],
    ...special,
  }
}

/** Returns the slugs that operations register. */
function traitsOf({ set, setOnce, increment, decrement }: TraitOperations): string[] {
  const slugs = [set, setOnce, increment, decrement].flatMap((operands = {}) => Object.keys(operands))
  return [...new Set(slugs)].filter((slug) => !KNOWN_FIELDS.includes(slug))
}

/** Returns a visit: an identify with a publishable key. */
export function visit(special: Partial<IdentifyRequested> = {}): IdentifyRequested {
  return identifyRequested({ source: 'sdk', ...special })
}

/** `userName` names the user; an event contains only the id. */
export function eventTracked({
  userName = 'ada',
  ...special
}: Partial<EventTracked> & { readonly userName?: string } = {}): EventTracked {
  const received = special.received ?? INSTANT
  const eventName = special.eventName ?? 'Checkout Completed'
  return {
    type: 'EventTracked',
    ...common(userName),
    eventName,
    slug: eventName.toLowerCase().replace(/[^a-z0-9]+/g, '_'),
    occurredAt: received,
    newEvent: false,
    metered: true,
    evaluateTriggers: true,
    ...special,
  }
}

/** `userName` names the user; an answer contains only the id. */
export function answerGiven({
  userName = 'ada',
  ...special
}: Partial<AnswerGiven> & { readonly userName?: string } = {}): AnswerGiven {
  return {
    type: 'AnswerGiven',
    ...common(userName),
    source: 'sdk',
    offerId: stableUuid(`offer/${userName}`),
    formId: 'nps',
    revision: 1,
    status: 'finished',
    elements: special.answers ? textElements(special.answers) : { score: 'nps' },
    answers: { score: 9 },
    ...special,
  }
}

/** Returns the outcome of an answer, as the evaluator publishes it: with the same id, so that the same sealed bytes open in both. */
export function formAnswered(answer: AnswerGiven = answerGiven(), special: Partial<FormAnswered> = {}): FormAnswered {
  const { id, organization, project, userId, offerId: queuedId, formId, received: at } = answer
  const { status, revision, language, environment, elements, answers } = answer
  return {
    type: 'FormAnswered',
    id,
    organization,
    project,
    userId,
    queuedId,
    formId,
    at,
    outcome: 'recorded',
    status,
    revision,
    ...(language !== undefined && { language }),
    environment,
    elements,
    answers,
    ...special,
  }
}

type Special<Fact> = Partial<Fact> & { readonly userName?: string }

/** Returns the members of a record about a row of the queue of a user: by default the one that `answerGiven` answers. */
function aboutRow<Type extends string>(type: Type, userName: string, queuedId = stableUuid(`offer/${userName}`)) {
  const { organization, project, userId } = common(userName)
  const id = stableUuid(`${type}/${queuedId}`)
  return { type, id, organization, project, userId, queuedId, formId: 'nps', at: INSTANT } as const
}

export function formQueued({ userName = 'ada', ...special }: Special<FormQueued> = {}): FormQueued {
  const { at = INSTANT, queuedId } = special
  const how = { environment: 'P', causeId: randomUUID(), priority: 0, showFrom: at, catalogRevision: 1 } as const
  return { ...aboutRow('FormQueued', userName, queuedId), ...how, ...special }
}

export function formDelivered({ userName = 'ada', ...special }: Special<FormDelivered> = {}): FormDelivered {
  const shown = { environment: 'P', visitId: randomUUID(), revision: 1, language: 'en' } as const
  return { ...aboutRow('FormDelivered', userName, special.queuedId), ...shown, ...special }
}

export function formExpired({ userName = 'ada', ...special }: Special<FormExpired> = {}): FormExpired {
  return { ...aboutRow('FormExpired', userName, special.queuedId), ...special }
}

export function formCancelled({ userName = 'ada', ...special }: Special<FormCancelled> = {}): FormCancelled {
  return { ...aboutRow('FormCancelled', userName, special.queuedId), ...special }
}

/** Returns the fence of an erasure on `form-events`. `keysUntil`: a minute after `at`. */
export function queueErased({ userName = 'ada', ...special }: Special<QueueErased> = {}): QueueErased {
  const { organization, project, userId } = common(userName)
  const { at = INSTANT } = special
  const keysUntil = new Date(Date.parse(at) + 60_000).toISOString()
  const erasure = { id: randomUUID(), erasureId: randomUUID(), at, keysUntil }
  return { type: 'QueueErased', organization, project, userId, ...erasure, ...special }
}

/** Returns the members of a record about a membership of a user. */
function aboutSegment<Type extends string>(type: Type, userName: string) {
  const { id, organization, project, userId } = common(userName)
  const cause = { cause: 'record', causeId: randomUUID(), causeOffset: 0, catalogRevision: 1 } as const
  return { type, id, organization, project, userId, segmentId: 'paying', at: INSTANT, ...cause } as const
}

export function segmentEntered({ userName = 'ada', ...special }: Special<SegmentEntered> = {}): SegmentEntered {
  return { ...aboutSegment('SegmentEntered', userName), ...special }
}

export function segmentLeft({ userName = 'ada', ...special }: Special<SegmentLeft> = {}): SegmentLeft {
  return { ...aboutSegment('SegmentLeft', userName), ...special }
}

/** Returns these answers as of elements of the type `text`. */
function textElements(answers: Answers): AnsweredElements {
  return Object.fromEntries(Object.keys(answers).map((id) => [id, 'text' as const]))
}

export function visitAnswered(
  special: Partial<VisitAnswered> & Pick<VisitAnswered, 'visitId' | 'queuedId' | 'formId'>,
): VisitAnswered {
  const { source: _s, keyed: _k, unchecked: _c, ...facts } = common('ada')
  return { type: 'VisitAnswered', ...facts, ...special }
}

/** Returns the fence of an erasure. `keysUntil`: a minute after `received`. */
export function userErased({
  userName = 'ada',
  ...special
}: Partial<UserErased> & { readonly userName?: string } = {}): UserErased {
  const { environment: _e, source: _s, keyed: _k, unchecked: _c, ...facts } = common(userName)
  const keysUntil = new Date(Date.parse(special.received ?? INSTANT) + 60_000).toISOString()
  return { type: 'UserErased', ...facts, erasureId: randomUUID(), keysUntil, ...special }
}

/** Returns an organization `acme` with the project `shop` and defaults for everything else. */
export function organizationConfig(special?: z.input<typeof OrganizationConfig>): OrganizationConfig {
  return OrganizationConfig.parse(special ?? { id: 'acme', projects: [{ id: 'shop' }] })
}
