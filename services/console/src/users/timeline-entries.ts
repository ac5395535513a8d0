import {
  firstCharacters,
  type FormDecision,
  type FormFact,
  type FormsReadModel,
  isRequestFact,
  type KeptRefusal,
  MAX_QUEUED_FORMS,
  type ProjectConfig,
  type QueuedForm,
  type UserFact,
} from '@nextvisit/contracts'
import { compileForms, explainGates, TRAIT_OPERATORS, traitChangesOf } from '@nextvisit/domain'
import type { TimelineEntry } from './api.ts'
import { boundedEntry } from './bounded-entry.ts'
import type { Mask } from '../http/mask.ts'
import { namedValues } from './profile.ts'

type Detail = TimelineEntry['details'][number]
/** Entry of a fact in the log. Refusals, and decisions that queued nothing, are not in the log. */
type FactEntry = TimelineEntry & { readonly kind: Exclude<TimelineEntry['kind'], 'decision' | 'refused'> }

const detail = (name: string, value: string): Detail => ({ name, value, withInstants: false })
const instantDetail = (name: string, value: string): Detail => ({ name, value, withInstants: true })
/** Details with values of a user or an event. */
const valueDetails = (values: Readonly<Record<string, unknown>>, mask: Mask): Detail[] =>
  namedValues(values, mask).map(({ name, value }) => detail(name, value))

/** A fact as the timeline holds it: its bounded entry, without the values that the entry does not show. */
export interface KeptFact {
  readonly entry: FactEntry
  /** Event or visit for which the project's forms were evaluated; undefined: the fact evaluates no forms. */
  readonly asked: { readonly event: string } | 'visit' | undefined
}

export function keptFactOf(fact: UserFact, mask: Mask): KeptFact {
  return { entry: boundedEntry(entryOf(fact, mask)), asked: askedBy(fact) }
}

/** More than any slug of the product. */
const MAX_SLUG = 300

function askedBy(fact: UserFact): KeptFact['asked'] {
  if (!isRequestFact(fact)) return undefined
  if (fact.type === 'EventTracked')
    return fact.evaluateTriggers ? { event: firstCharacters(fact.slug, MAX_SLUG) } : undefined
  return fact.source === 'sdk' ? 'visit' : undefined
}

interface TimelineParts {
  readonly facts: readonly KeptFact[]
  readonly formFacts: readonly FormFact[]
  /** Last decision on each form, and the queue; undefined: the evaluator does not answer. */
  readonly forms: FormsReadModel | undefined
  /** Kept refusals of this user. */
  readonly refusals: readonly KeptRefusal[]
  readonly config: ProjectConfig | undefined
  /** The request that the reader looks for. */
  readonly request: string | undefined
  /** Older entries are dropped, because the log was not read that far. */
  readonly since: string | null
  readonly mask: Mask
}

/** Merges facts, decisions, refusals and form events into one list, newest first. */
export function timelineEntriesOf(parts: TimelineParts): TimelineEntry[] {
  const { formFacts, forms, refusals, since, mask } = parts
  const { forms: decisions, queue } = forms ?? { forms: [], queue: [] }
  const entries = [
    ...factEntriesOf(parts),
    ...refusals.map((refusal) => boundedEntry(refusalEntryOf(refusal))),
    ...formFacts.map(formEntryOf),
    ...decisions
      .filter(({ decision }) => decision === 'not-queued')
      .map((decision) => boundedEntry(decisionEntryOf(decision, mask))),
    ...queue.flatMap(offerEntryOf),
  ]
  const unique = new Map(entries.map((entry) => [entry.id, entry]))
  return [...unique.values()]
    .filter(({ at }) => since === null || at >= since)
    .toSorted((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : rankOf(other) - rankOf(one)))
}

/** Order of entries with the same time: cause before effect. */
const ORDER: readonly TimelineEntry['kind'][] = [
  'identify',
  'event',
  'visit',
  'decision',
  'queued',
  'offered',
  'delivered',
]

function rankOf({ kind }: TimelineEntry): number {
  const rank = ORDER.indexOf(kind)
  return rank === -1 ? ORDER.length : rank
}

/** Returns the entries of facts, adding what the queue and the decisions tell about them now. */
function factEntriesOf(parts: TimelineParts): TimelineEntry[] {
  const { facts, forms, request } = parts
  const answered = new Set(facts.flatMap(({ entry }) => (entry.kind === 'offered' ? entry.requestId : [])))
  return facts.map((fact) => {
    const { entry } = fact
    const noForm = entry.kind === 'visit' && forms && !answered.has(entry.id) && whyNoForm(entry.at, forms.queue)
    const replaced = forms && entry.id === request ? replacedDecisions(fact, forms.forms, parts) : []
    return {
      ...entry,
      details: [
        ...(noForm ? [instantDetail('form', noForm)] : []),
        ...replaced.map(({ formId, at, requestId }) =>
          instantDetail(
            `form ${formId}`,
            `a decision for this request, if any, was replaced by a later one at ${at} for request ${requestId}`,
          ),
        ),
        ...entry.details,
      ],
    }
  })
}

/**
 * Returns later decisions on forms that this record may have triggered. Only the last decision on each form is kept, so a
 * decision for this record is lost, unless it queued the form: that is in the log.
 */
function replacedDecisions(
  { entry, asked }: KeptFact,
  decisions: readonly FormDecision[],
  { formFacts, config }: Pick<TimelineParts, 'formFacts' | 'config'>,
): readonly FormDecision[] {
  const forms = config ? formsAsked(asked, config) : []
  const queuedByIt = (formId: string) =>
    formFacts.some((one) => one.type === 'FormQueued' && one.causeId === entry.id && one.formId === formId)
  return decisions.filter(
    ({ formId, at, requestId }) =>
      requestId !== entry.id && at >= entry.at && forms.some(({ id }) => id === formId) && !queuedByIt(formId),
  )
}

function formsAsked(asked: KeptFact['asked'], config: ProjectConfig): readonly { readonly id: string }[] {
  if (asked === undefined) return []
  const forms = compileForms(config)
  return asked === 'visit' ? forms.onVisit : forms.onEvent(asked.event)
}

/** Converts a refusal. Kept refusals quote nothing of their caller. */
function refusalEntryOf({ id, at, message, status, reason, route, item, key, requestId }: KeptRefusal): TimelineEntry {
  const details = [
    detail('status', String(status)),
    detail('reason', reason),
    detail('route', item === undefined ? route : `${route}, item ${item}`),
    detail('key', key.name),
  ]
  return { id, at, kind: 'refused', title: `Refused: ${message}`, details, requestId }
}

/** Converts a fact of user-events. */
export function entryOf(fact: UserFact, mask: Mask): FactEntry {
  const common = { id: fact.id, at: fact.received, requestId: fact.id }
  if (fact.type === 'VisitAnswered') {
    const title = `Visit answered with form ${fact.formId}`
    return { ...common, requestId: fact.visitId, kind: 'offered', title, details: [] }
  }
  if (fact.type === 'UserErased') return { ...common, kind: 'erased', title: 'Erased', details: [] }
  const unchecked = Array.from(new Set(fact.unchecked), (check) => detail('unchecked', check))
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
    ...traitChangesOf(fact.operations).map(({ operator, slug, value }) =>
      detail(`${TRAIT_OPERATORS[operator].words} ${slug}`, value === undefined ? '' : mask.value(value)),
    ),
    ...valueDetails(fact.device, mask),
    ...(fact.invalidDeviceFields ?? []).map((field) => detail(field, 'dropped: not a valid value')),
    ...unchecked,
    ...imported,
  ]
  return { ...common, kind: isVisit ? 'visit' : 'identify', title: isVisit ? 'Visit' : 'Identified', details }
}

const FORM_TITLES = {
  FormQueued: { kind: 'queued', title: 'queued' },
  FormDelivered: { kind: 'delivered', title: 'delivered' },
  FormExpired: { kind: 'expired', title: 'expired' },
  FormCancelled: { kind: 'cancelled', title: 'cancelled: the workspace removed or disabled it' },
} as const

/** Converts a fact of form-events. */
export function formEntryOf(fact: FormFact): FactEntry {
  if (fact.type === 'QueueErased')
    return { id: fact.id, at: fact.at, kind: 'erased', title: 'Queue erased', details: [], requestId: null }
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

function decisionEntryOf(decision: FormDecision, mask: Mask): TimelineEntry {
  const { formId, at, requestId } = decision
  const details = explainGates({ gates: decision.gates.map(mask.gate) })
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ gate, words, withInstants }) => ({ name: `gate ${gate}`, value: words, withInstants }))
  const title = `Form ${formId} not queued: ${decision.reason}`
  return { id: `${requestId}/${formId}`, at, kind: 'decision', title, details, requestId }
}

/** Converts a pending offer. The log contains offers only once they are confirmed. */
function offerEntryOf({ queuedId, formId, state, offeredAt }: QueuedForm): TimelineEntry[] {
  if (state !== 'offered' || offeredAt === null) return []
  const title = `Form ${formId} offered to a visit, not confirmed yet`
  return [{ id: `${queuedId}/offered`, at: offeredAt, kind: 'offered', title, details: [], requestId: null }]
}

/** Explains from the present queue why a visit got no form; undefined: unknown. */
export function whyNoForm(visitAt: string, queue: readonly QueuedForm[]): string | undefined {
  if (queue.some(({ offeredAt }) => offeredAt === visitAt)) return undefined
  const open = queue.filter((row) => wasOpen(row, visitAt))
  const visible = open.filter(({ showFrom }) => showFrom <= visitAt).map(({ formId }) => formId)
  if (visible.length > 0)
    return `none, although ${visible.join(', ')} was waiting: not live, no longer for this user, too soon after another form, offered to another visit, or the answer came too late`
  // The time of a cancellation is not kept: these may have been waiting.
  if (queue.some(({ state, queuedAt }) => state === 'cancelled' && queuedAt <= visitAt)) return undefined
  const [first] = open.toSorted((one, other) => (one.showFrom < other.showFrom ? -1 : 1))
  if (first) return `none yet: ${first.formId} can be shown from ${first.showFrom}`
  return queue.length < MAX_QUEUED_FORMS ? 'none: no form was waiting for the user' : undefined
}

function wasOpen({ state, queuedAt, deliveredAt, expiresAt }: QueuedForm, at: string): boolean {
  if (state === 'cancelled' || queuedAt > at) return false
  return (deliveredAt === null || deliveredAt > at) && (expiresAt === null || expiresAt > at)
}
