import {
  type AnyFormFact,
  type Environment,
  type FormQueued,
  isSegmentFact,
  type QueueErased,
  type QueueRow,
  type QueueStateFact,
  type UserErased,
  type UserRef,
  type VisitAnswered,
} from '@nextvisit/contracts'
import { formFactIdOf, queuedIdOf, queueErasedIdOf } from './form-ids.ts'
import type { Moment } from '../../time/moment.ts'

/**
 * A user's queue (forms.md, The queue) and the transitions of its rows:
 *
 *     enqueue                → waiting
 *     offer        waiting   → offered
 *     expireDue    offered   → waiting     30 s passed without a confirmation
 *                  waiting   → expired     also an offered row whose 30 s have passed
 *     cancel       waiting   → cancelled
 *     confirm      any state → delivered   an answer may come after the row has expired or was cancelled
 *     answerRow    waiting, offered → answered   an answer has ended the form before a visit confirmed it
 *
 * Every change but an open offer is a fact on `form-events`. Only {@link applyFormFact} changes a queue by a fact, in the
 * evaluator and in `forms dry-run`. A rebuild folds single rows with {@link applyFormFactToRow}.
 */
export interface Queue {
  /** By id: every open row, and those others that a fact may still name. */
  readonly rows: ReadonlyMap<string, QueueRow>
  /** The open rows by form id: each form has one slot. */
  readonly open: ReadonlyMap<string, OpenRow>
  /** By form id. Only delivered rows count: a cancelled or expired one was never shown. */
  readonly shown: ReadonlyMap<string, ShownForm>
}

/** A row that waits or is offered. Rows are replaced, never changed. */
export type OpenRow = QueueRow & { readonly state: 'waiting' | 'offered' }

/** How often a form was shown to a user, and the last time: as the gates `repeat` and `cooldown` compare them. */
export interface ShownForm {
  readonly times: number
  readonly lastAt: string
}

/** A changed queue, with the facts that record the change, in order. */
export interface QueueChange {
  readonly queue: Queue
  readonly facts: readonly QueueStateFact[]
}

export const EMPTY_QUEUE: Queue = { rows: new Map(), open: new Map(), shown: new Map() }

/** Time in ms after which an offer that was not confirmed waits again. */
export const OFFER_HOLDS_MS = 30_000

/** Builds a queue from its stored rows. */
export function queueOf(rows: readonly QueueRow[], shown: Queue['shown'] = new Map()): Queue {
  return {
    rows: new Map(rows.map((row) => [row.id, row])),
    open: new Map(rows.filter(isOpen).map((row) => [row.formId, row])),
    shown,
  }
}

export function isOpen(row: QueueRow): row is OpenRow {
  return row.state === 'waiting' || row.state === 'offered'
}

/** Returns the state of an open row at `instant` (ms), after the changes that time alone brings. */
export function stateAt(row: OpenRow, instant: number): 'waiting' | 'offered' | 'expired' {
  if (row.offeredAt !== null && instant - Date.parse(row.offeredAt) < OFFER_HOLDS_MS) return 'offered'
  return row.expiresAt !== null && instant >= Date.parse(row.expiresAt) ? 'expired' : 'waiting'
}

/**
 * Applies a fact to a queue. The log may contain a fact twice, the second time after later facts of its row. Therefore a
 * row only moves forward, and a delivery of one row counts once.
 */
export function applyFormFact(queue: Queue, fact: AnyFormFact): Queue {
  if (fact.type === 'QueueErased') return EMPTY_QUEUE
  if (isSegmentFact(fact)) return queue
  const before = queue.rows.get(fact.queuedId)
  const after = applyFormFactToRow(before, fact)
  if (!after || after === before) return queue
  const next = withRow(queue, after)
  if (fact.type !== 'FormDelivered') return next
  const { times, lastAt } = queue.shown.get(fact.formId) ?? { times: 0, lastAt: null }
  const shown: ShownForm = {
    times: before?.state === 'delivered' ? times : times + 1,
    lastAt: laterOf(lastAt, fact.at),
  }
  return { ...next, shown: new Map(queue.shown).set(fact.formId, shown) }
}

/** A fact about a row, sealed or readable. */
type AnyRowFact = Extract<AnyFormFact, { readonly queuedId: string }>

/** Applies a fact to its row. Returns the same object if the row is past that, undefined if it was never queued. */
export function applyFormFactToRow(row: QueueRow | undefined, fact: AnyRowFact): QueueRow | undefined {
  if (fact.type === 'FormQueued') return row ?? waitingRow(fact)
  if (!row) return undefined
  switch (fact.type) {
    case 'FormExpired':
      return isOpen(row) ? { ...row, state: 'expired', offeredAt: null } : row
    case 'FormCancelled':
      return isOpen(row) ? { ...row, state: 'cancelled', offeredAt: null } : row
    case 'FormDelivered': {
      const shownAt = laterOf(row.shownAt, fact.at)
      return { ...row, state: 'delivered', offeredAt: null, shownAt, visitId: fact.visitId }
    }
    case 'FormAnswered':
      return applyAnswer(row, fact)
  }
}

/** Applies an answer to its row, in any state. Only an answer that is recorded changes it, and none after its end. */
function applyAnswer(row: QueueRow, { outcome, status, elements, at }: AnyFormFact<'FormAnswered'>): QueueRow {
  if (outcome !== 'recorded' || row.endedAt !== null) return row
  const startedAt = row.startedAt ?? (Object.keys(elements).length > 0 ? at : null)
  const answered = { ...row, answerStatus: status, startedAt }
  if (status === 'partial') return answered
  return { ...answered, endedAt: at, ...(isOpen(row) && { state: 'answered', offeredAt: null }) }
}

/** A form that passed every gate. Instants in ms. */
export interface FormToQueue {
  readonly formId: string
  readonly priority: number
  readonly showFrom: number
  readonly expiresAt?: number | undefined
}

/** The record that queues a form, and the revision of the configuration that was used. */
export interface QueueCause {
  readonly user: UserRef
  readonly recordId: string
  /** Of the key of the record. */
  readonly environment: Environment
  /** Of the record in its partition. Absent: a simulation. */
  readonly offset?: number
  readonly received: Moment
  readonly catalogRevision: number
}

/** Puts a form into the queue. The row's id is the same each time that the record is processed. */
export function enqueue(
  queue: Queue,
  form: FormToQueue,
  { user, recordId, environment, offset, received, catalogRevision }: QueueCause,
): QueueChange {
  const queuedId = queuedIdOf(recordId, received.iso, form.formId)
  return changeBy(queue, {
    type: 'FormQueued',
    id: formFactIdOf(queuedId, 'FormQueued'),
    organization: user.organization,
    project: user.project,
    userId: user.userId,
    queuedId,
    formId: form.formId,
    at: received.iso,
    environment,
    causeId: recordId,
    ...(offset === undefined ? {} : { causeOffset: offset }),
    priority: form.priority,
    showFrom: isoOf(form.showFrom),
    ...(form.expiresAt === undefined ? {} : { expiresAt: isoOf(form.expiresAt) }),
    catalogRevision,
  })
}

/** Offers a waiting row to a visit. Other visits do not get it until the offer is confirmed or has expired. */
export function offer(queue: Queue, row: OpenRow, visit: Moment): Queue {
  return withRow(queue, { ...row, state: 'offered', offeredAt: visit.iso })
}

/**
 * Delivers a row, whatever its state, once the gateway has answered a visit with its form. Nothing changes if the row is
 * unknown, or if the same answer has delivered it.
 */
export function confirm(
  queue: Queue,
  visit: Pick<VisitAnswered, 'queuedId' | 'visitId' | 'received' | 'environment' | 'revision' | 'language'>,
): QueueChange {
  const { queuedId, visitId, received, environment, revision, language } = visit
  const row = queue.rows.get(queuedId)
  if (!row || (row.state === 'delivered' && row.visitId === visitId)) return { queue, facts: [] }
  const id = formFactIdOf(queuedId, 'FormDelivered', visitId)
  const shown = {
    environment,
    ...(revision !== undefined && { revision }),
    ...(language !== undefined && { language }),
  }
  return changeBy(queue, { type: 'FormDelivered', id, ...subjectOf(row), at: received, visitId, ...shown })
}

/** Applies the changes that time alone brings: unconfirmed offers wait again, and due rows expire. */
export function expireDue(queue: Queue, now: Moment): QueueChange {
  let next = queue
  const facts: QueueStateFact[] = []
  for (const row of queue.open.values()) {
    const state = stateAt(row, now.ms)
    if (state === 'expired') facts.push(endOf(row, 'FormExpired', now))
    else if (state !== row.state) next = withRow(next, { ...row, state, offeredAt: null })
  }
  return changeBy(next, ...facts)
}

/** Removes a row from the queue because its form was removed or disabled. */
export function cancel(queue: Queue, row: OpenRow, now: Moment): QueueChange {
  return changeBy(queue, endOf(row, 'FormCancelled', now))
}

/** Returns the fact that an erasure of a user has ended the queue. `causeOffset`: that of the erasure in the partition of the user. */
export function queueErasedBy({ id, received: at, ...erased }: UserErased, causeOffset: number): QueueErased {
  const { organization, project, userId, erasureId, keysUntil } = erased
  return {
    type: 'QueueErased',
    id: queueErasedIdOf(id),
    organization,
    project,
    userId,
    at,
    erasureId,
    causeOffset,
    keysUntil,
  }
}

function changeBy(queue: Queue, ...facts: readonly QueueStateFact[]): QueueChange {
  return { queue: facts.reduce(applyFormFact, queue), facts }
}

/** Adds a row to the queue, or replaces the row with its id. */
function withRow({ rows, open, shown }: Queue, row: QueueRow): Queue {
  const openAfter = new Map(open)
  if (isOpen(row)) openAfter.set(row.formId, row)
  else if (open.get(row.formId)?.id === row.id) openAfter.delete(row.formId)
  return { rows: new Map(rows).set(row.id, row), open: openAfter, shown }
}

function waitingRow({ organization, project, userId, queuedId, formId, at, ...fact }: FormQueued): QueueRow {
  return {
    organization,
    project,
    userId,
    id: queuedId,
    formId,
    environment: fact.environment,
    state: 'waiting',
    priority: fact.priority,
    queuedAt: at,
    showFrom: fact.showFrom,
    expiresAt: fact.expiresAt ?? null,
    offeredAt: null,
    shownAt: null,
    visitId: null,
    startedAt: null,
    endedAt: null,
    answerStatus: null,
    causeId: fact.causeId,
    causeOffset: fact.causeOffset ?? null,
    catalogRevision: fact.catalogRevision,
  }
}

/** Returns the members that every fact about a row has. */
function subjectOf({ organization, project, userId, id, formId, ...row }: QueueRow) {
  return { organization, project, userId, queuedId: id, formId, ...causeOf(row) }
}

/** Returns the cause of a row, as its facts name it. */
export function causeOf({ causeId, causeOffset }: Pick<QueueRow, 'causeId' | 'causeOffset'>) {
  return { causeId, ...(causeOffset !== null && { causeOffset }) }
}

function endOf(row: QueueRow, type: 'FormExpired' | 'FormCancelled', now: Moment): QueueStateFact {
  return { type, id: formFactIdOf(row.id, type), ...subjectOf(row), at: now.iso }
}

/** Returns the later instant. Instants have one format, so they compare as text. */
function laterOf(one: string | null, other: string): string {
  return one !== null && one > other ? one : other
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}
