import {
  type AnswerOutcome,
  type AnswerStatus,
  type AnyFormFact,
  isSegmentFact,
  type SealedUserFact,
  type SegmentCause,
  type SegmentFact,
  type UserFact,
} from '@nextvisit/contracts'
import { TRAIT_OPERATORS, traitChangesOf } from '@nextvisit/domain'
import type { Mask } from '../http/mask.ts'
import type { TimelineEntry } from './api.ts'
import { namedValues } from './profile.ts'

type Detail = TimelineEntry['details'][number]
/** Entry of a fact in the log. Refusals, and decisions that queued nothing, are not in the log. */
export type FactEntry = TimelineEntry & { readonly kind: Exclude<TimelineEntry['kind'], 'decision' | 'refused'> }

export const detail = (name: string, value: string): Detail => ({ name, value, withInstants: false })
export const instantDetail = (name: string, value: string): Detail => ({ name, value, withInstants: true })
/** Details with values of a user or an event. */
const valueDetails = (values: Readonly<Record<string, unknown>>, mask: Mask): Detail[] =>
  namedValues(values, mask).map(({ name, value }) => detail(name, value))

/** Converts a fact of user-events. The entry of a sealed fact lacks its personal members. */
export function entryOf(fact: UserFact | SealedUserFact, mask: Mask): FactEntry {
  const common = { id: fact.id, at: fact.received, requestId: fact.id }
  if (fact.type === 'VisitAnswered') {
    const title = `Visit answered with form ${fact.formId}`
    return { ...common, requestId: fact.visitId, kind: 'offered', title, details: [] }
  }
  if (fact.type === 'UserErased')
    return { ...common, kind: 'erased', title: 'User erased', details: [detail('erasure', fact.erasureId)] }
  const unchecked = Array.from(new Set(fact.unchecked), (check) => detail('unchecked', check))
  if (fact.type === 'AnswerGiven') {
    const details = [
      ...(fact.language === undefined ? [] : [detail('language', fact.language)]),
      ...unchecked,
      ...valueDetails(fact.answers ?? {}, mask),
    ]
    return { ...common, kind: 'answer', title: ANSWER_TITLES[fact.status](fact.formId), details }
  }
  const imported = fact.imported ? [detail('imported', 'yes')] : []
  if (fact.type === 'EventTracked') {
    const details = [
      ...(fact.newEvent ? [detail('new event', 'yes')] : []),
      ...imported,
      ...(fact.evaluateTriggers
        ? []
        : [detail('triggers', `not evaluated: ${fact.imported ? 'imported' : 'too old on arrival'}`)]),
      ...(fact.occurredAt === fact.received ? [] : [instantDetail('occurred at', fact.occurredAt)]),
      ...unchecked,
      ...valueDetails(fact.properties ?? {}, mask),
    ]
    return { ...common, kind: 'event', title: `Event ${fact.eventName}`, details }
  }
  const isVisit = fact.source === 'sdk'
  const details = [
    ...(fact.operations ? traitChangesOf(fact.operations) : []).map(({ operator, slug, value }) =>
      detail(`${TRAIT_OPERATORS[operator].words} ${slug}`, value === undefined ? '' : mask.value(value)),
    ),
    ...valueDetails(fact.device ?? {}, mask),
    ...(fact.invalidDeviceFields ?? []).map((field) => detail(field, 'dropped: not a valid value')),
    ...unchecked,
    ...imported,
  ]
  return { ...common, kind: isVisit ? 'visit' : 'identify', title: isVisit ? 'Visit' : 'Identified', details }
}

const ANSWER_TITLES: { readonly [Status in AnswerStatus]: (formId: string) => string } = {
  partial: (formId) => `Answer to form ${formId} begun`,
  finished: (formId) => `Answer to form ${formId} finished`,
  dismissed: (formId) => `Form ${formId} dismissed`,
}

const FORM_TITLES = {
  FormQueued: { kind: 'queued', title: 'queued' },
  FormDelivered: { kind: 'delivered', title: 'delivered' },
  FormExpired: { kind: 'expired', title: 'expired' },
  FormCancelled: { kind: 'cancelled', title: 'cancelled: the workspace removed or disabled it' },
} as const

const ANSWER_OUTCOMES: Readonly<Record<AnswerOutcome, string>> = {
  recorded: 'counted',
  late: 'not counted: the form was ended before',
  unmatched: 'not counted: the user has no such offer',
}

const SEGMENT_CAUSES: Readonly<Record<SegmentCause, string>> = {
  record: 'a record of the user',
  time: 'time alone',
  definition: 'another definition of the segments',
}

function segmentEntryOf({ id, at, type, segmentId, cause, causeId }: SegmentFact): FactEntry {
  const title = `${type === 'SegmentEntered' ? 'Entered' : 'Left'} segment ${segmentId}`
  return {
    id,
    at,
    kind: 'segment',
    title,
    details: [detail('cause', SEGMENT_CAUSES[cause])],
    requestId: causeId ?? null,
  }
}

/** Converts a fact of form-events. */
export function formEntryOf(fact: AnyFormFact): FactEntry {
  if (isSegmentFact(fact)) return segmentEntryOf(fact)
  if (fact.type === 'QueueErased')
    return { id: fact.id, at: fact.at, kind: 'erased', title: 'Forms of the user erased', details: [], requestId: null }
  if (fact.type === 'FormAnswered') {
    const title = `Answer to form ${fact.formId} ${ANSWER_OUTCOMES[fact.outcome]}`
    // The answer itself, on user-events, has the same id.
    return { id: `outcome:${fact.id}`, at: fact.at, kind: 'answer', title, details: [], requestId: fact.id }
  }
  const { kind, title } = FORM_TITLES[fact.type]
  const details =
    fact.type === 'FormQueued'
      ? [
          ...(fact.showFrom === fact.at ? [] : [instantDetail('shown from', fact.showFrom)]),
          ...(fact.expiresAt ? [instantDetail('expires', fact.expiresAt)] : []),
        ]
      : []
  const requestId = fact.type === 'FormQueued' ? fact.causeId : fact.type === 'FormDelivered' ? fact.visitId : null
  return { id: fact.id, at: fact.at, kind, title: `Form ${fact.formId} ${title}`, details, requestId }
}
