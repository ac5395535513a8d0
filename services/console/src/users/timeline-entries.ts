import type { FormDecision, FormFact, KeptRefusal, ProjectConfig, QueuedForm, UserFact } from '@nextvisit/contracts'
import type { Mask } from '../session/mask.ts'
import type { TimelineEntry } from './api.ts'
import { gateLinesOf } from './form-lines.ts'
import { replacedDecisions } from './replaced-decisions.ts'
import { namedValues } from './user-answer.ts'
import { whyNoForm } from './visit-outcome.ts'

type Detail = TimelineEntry['details'][number]
/** Of a fact of the log. Decisions that queued nothing, and refusals, are none. */
export type FactEntry = TimelineEntry & { readonly kind: Exclude<TimelineEntry['kind'], 'decision' | 'refused'> }

const detail = (name: string, value: string): Detail => ({ name, value, withInstants: false })
const instantDetail = (name: string, value: string): Detail => ({ name, value, withInstants: true })
/** What a user or an event had. */
const said = (values: Readonly<Record<string, unknown>>, mask: Mask, prefix = ''): Detail[] =>
  namedValues(values, mask).map(({ name, value }) => detail(prefix + name, value))

export interface TimelineParts {
  readonly facts: readonly UserFact[]
  readonly formFacts: readonly FormFact[]
  /** The last decision on each form, and the queue; undefined: the evaluator does not answer. */
  readonly forms: { readonly forms: readonly FormDecision[]; readonly queue: readonly QueuedForm[] } | undefined
  /** Of this user, as far as they are kept. */
  readonly refusals: readonly KeptRefusal[]
  readonly config: ProjectConfig | undefined
  /** The request that somebody looks for. */
  readonly request: string | undefined
  /** Older entries are left out: what the log was not read for would have gaps. */
  readonly since: string | null
  readonly mask: Mask
}

/** Facts, decisions, refusals and what became of forms as one list, the newest first. */
export function timelineEntriesOf(parts: TimelineParts): TimelineEntry[] {
  const { formFacts, forms, refusals, since, mask } = parts
  const { forms: decisions, queue } = forms ?? { forms: [], queue: [] }
  const entries = [
    ...factEntriesOf(parts),
    ...refusals.map(refusalEntryOf),
    ...formFacts.map(formEntryOf),
    ...decisions.filter(({ decision }) => decision === 'not-queued').map((decision) => decisionEntryOf(decision, mask)),
    ...queue.flatMap(offerEntryOf),
  ]
  const unique = new Map(entries.map((entry) => [entry.id, entry]))
  return [...unique.values()]
    .filter(({ at }) => since === null || at >= since)
    .toSorted((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : rankOf(other) - rankOf(one)))
}

/** Entries of one moment stand in the order of cause and effect. */
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

/** What each fact says, and beside it what the queue and the decisions say of it now. */
function factEntriesOf({ facts, formFacts, forms, config, request, mask }: TimelineParts): TimelineEntry[] {
  const answered = new Set(facts.flatMap((fact) => (fact.type === 'VisitAnswered' ? fact.visitId : [])))
  return facts.map((fact) => {
    const entry = entryOf(fact, mask)
    const noForm = entry.kind === 'visit' && forms && !answered.has(fact.id) && whyNoForm(fact.received, forms.queue)
    const replaced =
      forms && fact.id === request ? replacedDecisions({ fact, decisions: forms.forms, formFacts, config }) : []
    return {
      ...entry,
      details: [
        ...(noForm ? [instantDetail('form', noForm)] : []),
        ...replaced.map(({ formId, at, requestId }) =>
          instantDetail(
            `form ${formId}`,
            `if a decision was taken, a later one has replaced it: at ${at}, for request ${requestId}`,
          ),
        ),
        ...entry.details,
      ],
    }
  })
}

/** A request that was refused. What is kept of it has no word of its caller. */
function refusalEntryOf({ id, at, message, status, reason, route, item, key, requestId }: KeptRefusal): TimelineEntry {
  const details = [
    detail('status', String(status)),
    detail('reason', reason),
    detail('route', item === undefined ? route : `${route}, item ${item}`),
    detail('key', key.name),
  ]
  return { id, at, kind: 'refused', title: `Refused: ${message}`, details, requestId }
}

/** A fact of user-events as it stands in a list. */
export function entryOf(fact: UserFact, mask: Mask): FactEntry {
  const common = { id: fact.id, at: fact.received, requestId: fact.id }
  if (fact.type === 'VisitAnswered') {
    const title = `Visit answered with form ${fact.formId}`
    return { ...common, requestId: fact.visitId, kind: 'offered', title, details: [] }
  }
  const unchecked = fact.unchecked.map((check) => detail('unchecked', check))
  const imported = fact.imported ? [detail('imported', 'yes')] : []
  if (fact.type === 'EventTracked') {
    const details = [
      ...(fact.newEvent ? [detail('new event', 'yes')] : []),
      ...imported,
      ...(fact.evaluateTriggers
        ? []
        : [detail('triggers', `not evaluated: ${fact.imported ? 'imported' : 'too old when it came'}`)]),
      ...(fact.occurredAt === fact.received ? [] : [instantDetail('occurred at', fact.occurredAt)]),
      ...unchecked,
      ...said(fact.properties ?? {}, mask),
    ]
    return { ...common, kind: 'event', title: `Event ${fact.eventName}`, details }
  }
  const isVisit = fact.source === 'sdk'
  const { set = {}, setOnce = {}, increment = {}, decrement = {}, unset = [] } = fact.operations
  const details = [
    ...said(set, mask, 'set '),
    ...said(setOnce, mask, 'set once '),
    ...said(increment, mask, 'increment '),
    ...said(decrement, mask, 'decrement '),
    ...unset.map((name) => detail(`unset ${name}`, '')),
    ...said(fact.device, mask),
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

/** What became of a form. */
export function formEntryOf(fact: FormFact): FactEntry {
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
  const details = gateLinesOf(decision, mask)
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ gate, words, withInstants }) => ({ name: `gate ${gate}`, value: words, withInstants }))
  const title = `Form ${formId} not queued: ${decision.reason}`
  return { id: `${requestId}/${formId}`, at, kind: 'decision', title, details, requestId }
}

/** An offer stands only in the queue: on the log it shows when it was confirmed. */
function offerEntryOf({ queuedId, formId, state, offeredAt }: QueuedForm): TimelineEntry[] {
  if (state !== 'offered' || offeredAt === null) return []
  const title = `Form ${formId} offered to a visit, not confirmed yet`
  return [{ id: `${queuedId}/offered`, at: offeredAt, kind: 'offered', title, details: [], requestId: null }]
}
