import type { EventTracked, FormFact, IdentifyRequested, VisitAnswered } from '@nextvisit/contracts'
import { type FormDecision, formFactIdOf, type OpenForm, queuedIdOf, stateAt } from '@nextvisit/domain'

/** Whose rows: all facts of a user share a partition of `user-events`. */
export interface Owner {
  readonly organization: string
  readonly project: string
  readonly userId: string
  readonly partition: number
}

export function ownerOf({ organization, project, userId, partition }: Owner): Owner {
  return { organization, project, userId, partition }
}

/** A row of `queue`. It is replaced, never changed. Instants in ms. */
export interface QueueRow extends Owner, Omit<OpenForm, 'state'> {
  readonly state: 'waiting' | 'offered' | 'delivered' | 'expired' | 'cancelled'
  readonly shownAt?: number | undefined
  /** The visit that it was shown at. */
  readonly visitId?: string | undefined
  /** The record that matched. */
  readonly causeId: string
  readonly catalogRevision: number
}
export type OpenRow = QueueRow & OpenForm

export function isOpen(row: QueueRow): row is OpenRow {
  return row.state === 'waiting' || row.state === 'offered'
}

/** The row that a decision makes. Its id is the same whenever this record is processed. */
export function queuedRow(
  owner: Owner,
  decision: Extract<FormDecision, { outcome: 'queued' }>,
  cause: IdentifyRequested | EventTracked,
  catalogRevision: number,
): OpenRow {
  const { formId, priority, showFrom, expiresAt } = decision
  return {
    ...ownerOf(owner),
    id: queuedIdOf(cause.id, cause.received, formId),
    formId,
    state: 'waiting',
    priority,
    queuedAt: Date.parse(cause.received),
    showFrom,
    expiresAt,
    causeId: cause.id,
    catalogRevision,
  }
}

/** What time alone has made of an open row by `instant`; the same object where that is nothing. */
export function lapsed(row: OpenRow, instant: number): QueueRow {
  const state = stateAt(row, instant)
  return state === row.state ? row : { ...row, state, offeredAt: undefined }
}

/** Shown, from whatever state it is in: the visit was answered with it. */
export function delivered(row: QueueRow, { visitId, received }: VisitAnswered): QueueRow {
  const shownAt = Math.max(row.shownAt ?? 0, Date.parse(received))
  return { ...row, state: 'delivered', offeredAt: undefined, shownAt, visitId }
}

/** The record on `form-events` that tells of the state a row has come into; `at`: by which instant (ms). */
export function formFactOf(
  row: QueueRow & { readonly state: Exclude<QueueRow['state'], 'offered'> },
  at: number,
): FormFact {
  const { organization, project, userId, formId } = row
  const common = { organization, project, userId, queuedId: row.id, formId, at: instantOf(at) }
  switch (row.state) {
    case 'waiting':
      return {
        type: 'FormQueued',
        id: formFactIdOf(row.id, 'FormQueued'),
        ...common,
        causeId: row.causeId,
        priority: row.priority,
        showFrom: instantOf(row.showFrom),
        ...(row.expiresAt === undefined ? {} : { expiresAt: instantOf(row.expiresAt) }),
        catalogRevision: row.catalogRevision,
      }
    case 'delivered': {
      const visitId = row.visitId ?? row.causeId
      return { type: 'FormDelivered', id: formFactIdOf(row.id, 'FormDelivered', visitId), ...common, visitId }
    }
    case 'expired':
      return { type: 'FormExpired', id: formFactIdOf(row.id, 'FormExpired'), ...common }
    case 'cancelled':
      return { type: 'FormCancelled', id: formFactIdOf(row.id, 'FormCancelled'), ...common }
  }
}

function instantOf(ms: number): string {
  return new Date(ms).toISOString()
}
