import {
  type FormDecision,
  type SealedFormFact,
  type FormsReadModel,
  type KeptRefusal,
  MAX_QUEUED_FORMS,
  type ProjectConfig,
  type QueuedForm,
} from '@nextvisit/contracts'
import { compileForms, explainGates } from '@nextvisit/domain'
import type { TimelineEntry } from './api.ts'
import { boundedEntry } from './bounded-entry.ts'
import type { Mask } from '../http/mask.ts'
import { detail, formEntryOf, instantDetail } from './fact-entries.ts'
import type { KeptFact } from './kept-fact.ts'

interface TimelineParts {
  readonly facts: readonly KeptFact[]
  readonly formFacts: readonly SealedFormFact[]
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
  'answer',
  'segment',
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

function wasOpen({ state, queuedAt, deliveredAt, expiresAt, endedAt }: QueuedForm, at: string): boolean {
  if (state === 'cancelled' || queuedAt > at) return false
  if (state === 'answered' && endedAt !== null && endedAt <= at) return false
  return (deliveredAt === null || deliveredAt > at) && (expiresAt === null || expiresAt > at)
}
