import { type FormFact, type Queued, type UserFact, userKey, type Visited } from './facts.ts'
import type { QueueThen } from './gates.ts'
import { uuidV5 } from './uuid-v5.ts'

/** An offer that nobody confirms returns to the queue after so long (docs/spec/forms.md, The queue). */
const OFFER_HOLDS_MS = 30_000
/** Clocks of gateways and evaluators differ by less than this, and they learn of an applied revision within it. */
export const NEAR_MS = 15_000

interface Row {
  readonly formId: string
  readonly expiresMs: number
  /** Expired or cancelled, between two records that cannot be determined. */
  isOver: boolean
  /** By the evaluator's clock. */
  cancelledMs?: number
}

interface UserQueue {
  /** What was queued and not delivered. */
  readonly undelivered: Map<string, Row>
  readonly delivered: Set<string>
  readonly shown: Map<string, { times: number; lastMs: number }>
  lastVisitMs: number
}

/** What is known about a user's queue at a record. */
export interface QueuesThen {
  /** Only what is certain, and not contradicted by the order on `form-events`. */
  readonly certain: QueueThen
  /** At the record's own instant. They differ by what the log does not show: offers, and what was cancelled just then. */
  readonly least: QueueThen
  readonly most: QueueThen
}

/** The queue in the order of `user-events`: each record finds what the records before it have queued and confirmed. */
export interface QueueHistory {
  /** A fact of `form-events`. All of a user's come before {@link queuedBy}. */
  readonly foldForm: (fact: FormFact) => void
  readonly queuedBy: (fact: UserFact) => readonly Queued[]
  readonly at: (fact: UserFact) => QueuesThen
  /** What the record does to it. */
  readonly pass: (fact: UserFact) => void
  readonly clear: () => void
}

export function createQueueHistory(): QueueHistory {
  const queued = new Map<string, Map<string, Queued>>()
  const rows = new Map<string, Row>()
  const users = new Map<string, UserQueue>()

  const userOf = (key: string): UserQueue => {
    const user = users.get(key) ?? newUser()
    users.set(key, user)
    return user
  }
  const queuedBy: QueueHistory['queuedBy'] = ({ id, received }) =>
    [...(queued.get(id)?.values() ?? [])].filter(
      ({ queuedId, formId }) => queuedId === uuidV5(`${received}/${formId}`, id),
    )

  const confirm = ({ queuedId, formId, received }: Visited, user: UserQueue): void => {
    const isFirst = user.undelivered.delete(queuedId)
    if (!isFirst && !user.delivered.has(queuedId)) return
    user.delivered.add(queuedId)
    const { times = 0, lastMs = -Infinity } = user.shown.get(formId) ?? {}
    user.shown.set(formId, { times: times + (isFirst ? 1 : 0), lastMs: Math.max(lastMs, Date.parse(received)) })
  }

  return {
    foldForm: (fact) => {
      const key = `${userKey(fact)}/${fact.queuedId}`
      const row = rows.get(key)
      if (fact.type === 'FormQueued' && !row) {
        const ofCause = queued.get(fact.causeId) ?? new Map<string, Queued>()
        queued.set(fact.causeId, ofCause.set(fact.queuedId, fact))
        const expiresMs = fact.expiresAt === undefined ? Infinity : Date.parse(fact.expiresAt)
        rows.set(key, { formId: fact.formId, expiresMs, isOver: false })
      }
      if (!row || (fact.type !== 'FormExpired' && fact.type !== 'FormCancelled')) return
      row.isOver = true
      if (fact.type === 'FormCancelled') row.cancelledMs ??= Date.parse(fact.at)
    },

    queuedBy,

    at: (fact) => queuesOf(userOf(userKey(fact)), Date.parse(fact.received)),

    pass: (fact) => {
      const key = userKey(fact)
      const user = userOf(key)
      if (fact.type === 'VisitAnswered') return confirm(fact, user)
      for (const { queuedId } of queuedBy(fact)) {
        const row = rows.get(`${key}/${queuedId}`)
        if (row) user.undelivered.set(queuedId, row)
      }
      if (fact.type === 'IdentifyRequested' && fact.source === 'sdk') {
        user.lastVisitMs = Math.max(user.lastVisitMs, Date.parse(fact.received))
      }
    },

    clear: () => {
      for (const each of [queued, rows, users]) each.clear()
    },
  }
}

function newUser(): UserQueue {
  return { undelivered: new Map(), delivered: new Set(), shown: new Map(), lastVisitMs: -Infinity }
}

function queuesOf({ undelivered, shown, lastVisitMs }: UserQueue, now: number): QueuesThen {
  const mayBeOffered = now - lastVisitMs < OFFER_HOLDS_MS
  const rows = [...undelivered.values()].map((row) => ({ ...row, state: stateAt(row, now, mayBeOffered) }))
  const formsOf = (some: typeof rows) => new Set(some.map(({ formId }) => formId))
  const open = rows.filter(({ state }) => state === 'open')
  const perhapsOpen = rows.filter(({ state }) => state !== 'over')
  return {
    certain: { shown, open: formsOf(open.filter(({ isOver }) => !isOver)) },
    least: { shown, open: formsOf(open) },
    most: {
      shown,
      open: formsOf(perhapsOpen),
      ...(mayBeOffered && perhapsOpen.length > 0 && { offeredMs: lastVisitMs }),
    },
  }
}

/** By the record's time: a row that had not expired when the record was received is open, whatever a clock showed later. */
function stateAt({ expiresMs, cancelledMs }: Row, now: number, mayBeOffered: boolean): 'open' | 'over' | 'undecided' {
  if (now >= expiresMs) return mayBeOffered ? 'undecided' : 'over'
  if (cancelledMs === undefined || now <= cancelledMs - NEAR_MS) return 'open'
  return now >= cancelledMs + NEAR_MS ? 'over' : 'undecided'
}
