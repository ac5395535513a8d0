import type { FormDecision, FormFact, QueuedForm, UserFact } from '@nextvisit/contracts'
import type { TimelineEntry } from '../api/users.ts'
import { formLinesOf } from './form-lines.ts'
import type { Mask } from './mask.ts'
import { namedValues } from './user-answer.ts'

type Detail = TimelineEntry['details'][number]

const detail = (name: string, value: string): Detail => ({ name, value, withInstants: false })
const instantDetail = (name: string, value: string): Detail => ({ name, value, withInstants: true })
/** What a user or an event had. */
const said = (values: Readonly<Record<string, unknown>>, mask: Mask, prefix = ''): Detail[] =>
  namedValues(values, mask).map(({ name, value }) => detail(prefix + name, value))

export interface TimelineParts {
  readonly facts: readonly UserFact[]
  readonly formFacts: readonly FormFact[]
  /** The last on each form. */
  readonly decisions: readonly FormDecision[]
  readonly queue: readonly QueuedForm[]
  /** Older entries are left out: what the log was not read for would have gaps. */
  readonly since: string | null
  readonly mask: Mask
}

/** Facts, decisions and what became of forms as one list, the newest first. */
export function timelineEntriesOf(parts: TimelineParts): TimelineEntry[] {
  const { facts, formFacts, decisions, queue, since, mask } = parts
  const entries = [
    ...facts.map((fact) => entryOf(fact, mask)),
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

/** A fact of user-events as it stands in a list. */
export function entryOf(fact: UserFact, mask: Mask): TimelineEntry {
  const common = { id: fact.id, at: fact.received, requestId: fact.id }
  if (fact.type === 'VisitAnswered') {
    const title = `Visit answered with form ${fact.formId}`
    return { ...common, requestId: fact.visitId, kind: 'offered', title, details: [] }
  }
  const unchecked = fact.unchecked.map((check) => detail('unchecked', check))
  if (fact.type === 'EventTracked') {
    const details = [
      ...(fact.newEvent ? [detail('new event', 'yes')] : []),
      ...(fact.evaluateTriggers ? [] : [detail('triggers', 'not evaluated: too old when it came')]),
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
    ...(fact.imported ? [detail('imported', 'yes')] : []),
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
export function formEntryOf(fact: FormFact): TimelineEntry {
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
  const [line] = formLinesOf([decision], undefined, mask)
  const details = (line?.gates ?? [])
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
