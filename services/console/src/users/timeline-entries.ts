import type { FormDecision, FormFact, QueuedForm, UserFact } from '@nextvisit/contracts'
import type { TimelineEntry } from '../api/users.ts'
import { formLinesOf } from './form-lines.ts'
import type { Mask } from './mask.ts'
import { namedValues } from './user-answer.ts'

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

function entryOf(fact: UserFact, mask: Mask): TimelineEntry {
  const common = { id: fact.id, at: fact.received, requestId: fact.id }
  if (fact.type === 'VisitAnswered') {
    const title = `Visit answered with form ${fact.formId}`
    return { ...common, requestId: fact.visitId, kind: 'offered', title, details: [] }
  }
  const unchecked = fact.unchecked.map((check) => ({ name: 'unchecked', value: check }))
  if (fact.type === 'EventTracked') {
    const details = [
      ...(fact.newEvent ? [{ name: 'new event', value: 'yes' }] : []),
      ...(fact.evaluateTriggers ? [] : [{ name: 'triggers', value: 'not evaluated: too old when it came' }]),
      ...(fact.occurredAt === fact.received ? [] : [{ name: 'occurred at', value: fact.occurredAt }]),
      ...unchecked,
      ...namedValues(fact.properties ?? {}, mask),
    ]
    return { ...common, kind: 'event', title: `Event ${fact.eventName}`, details }
  }
  const isVisit = fact.source === 'sdk'
  const { set = {}, setOnce = {}, increment = {}, decrement = {}, unset = [] } = fact.operations
  const details = [
    ...namedValues(set, mask).map(({ name, value }) => ({ name: `set ${name}`, value })),
    ...namedValues(setOnce, mask).map(({ name, value }) => ({ name: `set once ${name}`, value })),
    ...namedValues(increment, mask).map(({ name, value }) => ({ name: `increment ${name}`, value })),
    ...namedValues(decrement, mask).map(({ name, value }) => ({ name: `decrement ${name}`, value })),
    ...unset.map((name) => ({ name: `unset ${name}`, value: '' })),
    ...namedValues(fact.device, mask),
    ...unchecked,
    ...(fact.imported ? [{ name: 'imported', value: 'yes' }] : []),
  ]
  return { ...common, kind: isVisit ? 'visit' : 'identify', title: isVisit ? 'Visit' : 'Identified', details }
}

const FORM_TITLES = {
  FormQueued: { kind: 'queued', title: 'queued' },
  FormDelivered: { kind: 'delivered', title: 'delivered' },
  FormExpired: { kind: 'expired', title: 'expired' },
  FormCancelled: { kind: 'cancelled', title: 'cancelled: the workspace removed or disabled it' },
} as const

function formEntryOf(fact: FormFact): TimelineEntry {
  const { kind, title } = FORM_TITLES[fact.type]
  const details =
    fact.type === 'FormQueued'
      ? [
          ...(fact.showFrom === fact.at ? [] : [{ name: 'shown from', value: fact.showFrom }]),
          ...(fact.expiresAt ? [{ name: 'expires', value: fact.expiresAt }] : []),
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
    .map(({ gate, words }) => ({ name: `gate ${gate}`, value: words }))
  const title = `Form ${formId} not queued: ${decision.reason}`
  return { id: `${requestId}/${formId}`, at, kind: 'decision', title, details, requestId }
}

/** An offer stands only in the queue: on the log it shows when it was confirmed. */
function offerEntryOf({ queuedId, formId, state, offeredAt }: QueuedForm): TimelineEntry[] {
  if (state !== 'offered' || offeredAt === null) return []
  const title = `Form ${formId} offered to a visit, not confirmed yet`
  return [{ id: `${queuedId}/offered`, at: offeredAt, kind: 'offered', title, details: [], requestId: null }]
}
