import type { EvaluatorReply, FormFact, GateReason, Trigger } from '@nextvisit/contracts'
import type { GateCheck, Shown, UserActivity } from '@nextvisit/domain'
import { isOpen, type OpenRow, type Owner, ownerOf, type QueueRow } from './queue-row.ts'

/** A user as a batch finds and changes them; it is the `UserState` that the rules look at. Instants in ms. */
export interface DraftUser extends Owner, UserActivity {
  readonly open: Map<string, OpenRow>
  readonly shown: Map<string, Shown>
  /** By id: the open rows, and those that this batch's records name or caused. */
  readonly rows: Map<string, QueueRow>
  /** What of it must be written. */
  isChanged: boolean
  readonly changedSlugs: Set<string>
  readonly changedRows: Set<string>
  readonly newRows: Set<string>
}

/** Why a form did, or did not, reach a user. */
export interface Decision extends Owner {
  readonly formId: string
  readonly outcome: 'queued' | GateReason
  readonly recordId: string
  /** ISO. */
  readonly decidedAt: string
  readonly catalogRevision: number
  readonly trigger: Trigger
  readonly checks: readonly GateCheck[]
}

export interface AddressedReply {
  readonly channel: string
  readonly reply: EvaluatorReply
}

/** The reply to a record whose request had an `Idempotency-Key`, for its copies. */
export interface KeyedOutcome {
  readonly partition: number
  /** ISO, of the record. */
  readonly received: string
  readonly reply: EvaluatorReply
}

/** What a batch makes of the users it touches. */
export interface FormsDraft {
  readonly users: Map<string, DraftUser>
  /** The last for each user and form. */
  readonly decisions: Map<string, Decision>
  /** For `form-events`, in order. */
  readonly facts: FormFact[]
  readonly replies: AddressedReply[]
  /** By record id. */
  readonly outcomes: Map<string, KeyedOutcome>
}

export function emptyDraft(): FormsDraft {
  return { users: new Map(), decisions: new Map(), facts: [], replies: [], outcomes: new Map() }
}

/** Ids of organizations, projects and forms hold no `/`. */
export function userKeyOf({ organization, project, userId }: Omit<Owner, 'partition'>): string {
  return `${organization}/${project}/${userId}`
}

export function newUser(owner: Owner): DraftUser {
  return {
    ...ownerOf(owner),
    traits: new Map(),
    device: {},
    events: new Map(),
    open: new Map(),
    shown: new Map(),
    rows: new Map(),
    isChanged: false,
    changedSlugs: new Set(),
    changedRows: new Set(),
    newRows: new Set(),
  }
}

/** Adds a row to the queue, or replaces it there. What is new in this batch is inserted as it ends up. */
export function putRow(user: DraftUser, row: QueueRow): void {
  if (!user.rows.has(row.id)) user.newRows.add(row.id)
  else if (!user.newRows.has(row.id)) user.changedRows.add(row.id)
  user.rows.set(row.id, row)
  if (isOpen(row)) user.open.set(row.formId, row)
  else if (user.open.get(row.formId)?.id === row.id) user.open.delete(row.formId)
}
