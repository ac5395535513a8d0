import {
  type ClearAnswer,
  type ClearFact,
  type ClearIdentify,
  type FormFact,
  isQueuedBy,
  type FormQueued,
  userKey,
  type VisitAnswered,
} from './facts.ts'
import type { QueueThen } from './gates.ts'
import { NEAR_MS } from './model.ts'
import { isEvaluated } from './triggers.ts'

/** Time in ms after which an unconfirmed offer returns to the queue (forms.md, The queue). */
export const OFFER_HOLDS_MS = 30_000
/** Time in ms within which a duplicate of a visit with an `Idempotency-Key` gets the same offer. */
const DUPLICATE_WITHIN_MS = 24 * 3_600_000

/** A row that was queued and not delivered. */
export interface Row {
  readonly queuedId: string
  readonly formId: string
  readonly queuedAt: string
  readonly priority: number
  readonly showFromMs: number
  /** Instant of expiry in ms; Infinity: never. */
  readonly expiresMs: number
  /** True if a record received at its expiry or later was evaluated, and may have expired it for records received before. */
  isDue: boolean
  /** True if it expired or was cancelled, at an unknown position between records. */
  isOver: boolean
  /** Instant of the cancellation, by the evaluator's clock. */
  cancelledMs?: number
  /** Visits that it was, or may have been, offered to: their times of receipt, in order. */
  readonly offers: Offer[]
}

interface Offer {
  readonly at: string
  /** True if the answer to the visit contained it. */
  readonly isConfirmed: boolean
}

interface UserQueue {
  /** Rows by id. */
  readonly undelivered: Map<string, Row>
  /** Rows that an answer has ended before they were delivered: they are no longer in the queue. */
  readonly answered: Set<string>
  readonly delivered: Set<string>
  readonly shown: Map<string, { times: number; lastAt: string }>
}

/** Known states of a user's queue at a record. */
export interface QueuesThen {
  /** Certain facts that the order on `form-events` does not contradict. */
  readonly certain: QueueThen
  /**
   * Possible states at the record's own instant. They differ by facts missing in the log: offers, and simultaneous
   * cancellations.
   */
  readonly possible: readonly QueueThen[]
}

/** The queue in the order of `user-events`: each record sees the rows that earlier records have queued and confirmed. */
export interface QueueHistory {
  /** Folds a fact of `form-events`. All facts of a user precede {@link queuedBy}. */
  readonly foldForm: (fact: FormFact) => void
  /** Returns whether an answer has finished a row of its user, so that it is evaluated. */
  readonly hasFinished: (fact: ClearFact) => boolean
  readonly queuedBy: (fact: ClearFact) => readonly FormQueued[]
  /** Returns the ids of the rows in the answer of a visit. */
  readonly shownAt: (visit: ClearIdentify) => readonly string[]
  readonly at: (fact: ClearFact) => QueuesThen
  readonly undelivered: (fact: ClearFact) => readonly Row[]
  /** Takes the row that an answer ends out of the queue. */
  readonly endRow: (fact: ClearAnswer) => void
  /** Applies a record to the queue. */
  readonly pass: (fact: ClearFact) => void
  /** Returns whether a visit received at this instant may have been offered the row. `key` identifies user and row. */
  readonly mayBeOffered: (key: string, at: string) => boolean
  readonly clear: () => void
}

export function createQueueHistory(): QueueHistory {
  const queued = new Map<string, Map<string, FormQueued>>()
  const shownAt = new Map<string, { readonly queuedId: string; readonly at: string }[]>()
  const rows = new Map<string, Row>()
  const users = new Map<string, UserQueue>()
  /** Ids of the answers that have finished a row. */
  const finishing = new Set<string>()

  const userOf = (key: string): UserQueue => {
    const user = users.get(key) ?? {
      undelivered: new Map(),
      answered: new Set(),
      delivered: new Set(),
      shown: new Map(),
    }
    users.set(key, user)
    return user
  }
  const queuedBy: QueueHistory['queuedBy'] = (fact) =>
    [...(queued.get(fact.id)?.values() ?? [])].filter((one) => isQueuedBy(one, fact))

  const confirm = ({ queuedId, formId, received }: VisitAnswered, user: UserQueue): void => {
    const isFirst = user.undelivered.delete(queuedId) || user.answered.delete(queuedId)
    if (!isFirst && !user.delivered.has(queuedId)) return
    user.delivered.add(queuedId)
    const { times = 0, lastAt = received } = user.shown.get(formId) ?? {}
    user.shown.set(formId, { times: times + (isFirst ? 1 : 0), lastAt: received > lastAt ? received : lastAt })
  }

  const answer = ({ offerId, formId, status }: ClearAnswer, user: UserQueue): void => {
    if (status === 'partial' || user.undelivered.get(offerId)?.formId !== formId) return
    user.undelivered.delete(offerId)
    user.answered.add(offerId)
  }

  return {
    foldForm: (fact) => {
      if (fact.type === 'FormAnswered' && fact.outcome === 'recorded' && fact.status === 'finished')
        finishing.add(fact.id)
      const key = `${userKey(fact)}/${fact.queuedId}`
      const row = rows.get(key)
      if (fact.type === 'FormQueued' && !row) {
        const ofCause = queued.get(fact.causeId) ?? new Map<string, FormQueued>()
        queued.set(fact.causeId, ofCause.set(fact.queuedId, fact))
        rows.set(key, rowOf(fact))
      }
      if (fact.type === 'FormDelivered') shownAt.set(fact.visitId, [...(shownAt.get(fact.visitId) ?? []), fact])
      if (!row || (fact.type !== 'FormExpired' && fact.type !== 'FormCancelled')) return
      row.isOver = true
      if (fact.type === 'FormCancelled') row.cancelledMs ??= Date.parse(fact.at)
    },

    endRow: (fact) => answer(fact, userOf(userKey(fact))),

    hasFinished: ({ type, id }) => type === 'AnswerGiven' && finishing.has(id),

    queuedBy,

    shownAt: ({ id, received }) => {
      const [from, until] = [Date.parse(received) - NEAR_MS, Date.parse(received) + DUPLICATE_WITHIN_MS]
      const shown = (shownAt.get(id) ?? []).filter(({ at }) => Date.parse(at) >= from && Date.parse(at) < until)
      return [...new Set(shown.map(({ queuedId }) => queuedId))]
    },

    at: (fact) => queuesOf(userOf(userKey(fact)), Date.parse(fact.received)),

    undelivered: (fact) => [...userOf(userKey(fact)).undelivered.values()],

    pass: (fact) => {
      const key = userKey(fact)
      const user = userOf(key)
      if (fact.type === 'VisitAnswered') return confirm(fact, user)
      if (fact.type === 'AnswerGiven') answer(fact, user)
      if (isEvaluated(fact) || finishing.has(fact.id)) {
        for (const row of user.undelivered.values()) row.isDue ||= Date.parse(fact.received) >= row.expiresMs
      }
      for (const { queuedId } of queuedBy(fact)) {
        const row = rows.get(`${key}/${queuedId}`)
        if (row) user.undelivered.set(queuedId, row)
      }
    },

    mayBeOffered: (key, at) => rows.get(key)?.offers.some((offer) => offer.at === at) ?? false,

    clear: () => {
      for (const each of [queued, shownAt, rows, users, finishing]) each.clear()
    },
  }
}

function rowOf({ queuedId, formId, at: queuedAt, priority, showFrom, expiresAt }: FormQueued): Row {
  const expiresMs = expiresAt === undefined ? Infinity : Date.parse(expiresAt)
  return {
    queuedId,
    formId,
    queuedAt,
    priority,
    showFromMs: Date.parse(showFrom),
    expiresMs,
    isDue: false,
    isOver: false,
    offers: [],
  }
}

/** Returns whether an offer may still be open. A fast clock may have ended it earlier. */
function isOpenAt({ at }: Offer, now: number): boolean {
  return now - Date.parse(at) < OFFER_HOLDS_MS
}

export function mayBeOnOffer({ offers }: Row, now: number): boolean {
  return offers.some((offer) => isOpenAt(offer, now))
}

/** Returns the state of a row at a record's time. Later ticks do not count, but possible effects of earlier records do. */
export function stateAt(row: Row, now: number): 'open' | 'over' | 'undecided' {
  const { expiresMs, isDue, cancelledMs = Infinity } = row
  if (now >= expiresMs) return mayBeOnOffer(row, now) ? 'undecided' : 'over'
  if (now >= cancelledMs + NEAR_MS) return 'over'
  return isDue || now > cancelledMs - NEAR_MS ? 'undecided' : 'open'
}

function queuesOf({ undelivered, shown }: UserQueue, now: number): QueuesThen {
  const rows = [...undelivered.values()].map((row) => ({ row, state: stateAt(row, now) }))
  const least = rows.filter(({ state }) => state === 'open').map(({ row }) => row)
  const undecided = rows.filter(({ state }) => state === 'undecided').map(({ row }) => row)
  const possible = possibleOf(undecided).map((some) => [...least, ...some])
  const ofOffers = possible.flatMap((some) => offersAt(some, now).map((offers) => queueOf(some, offers, shown)))
  const isEachAlike = ofOffers.length === 1 && !least.some(({ isOver }) => isOver)
  const certain = queueOf(
    least.filter(({ isOver }) => !isOver),
    [],
    shown,
  )
  return { certain: isEachAlike ? (ofOffers[0] ?? certain) : certain, possible: ofOffers }
}

/** Above this number of undecided rows, only all or none are considered: the combinations would be too many. */
const MAX_COMBINED = 4

/** Returns the possible sets of these rows that are open: an offer may keep one open while another has expired. */
function possibleOf(undecided: readonly Row[]): readonly (readonly Row[])[] {
  if (undecided.length > MAX_COMBINED) return [[], undecided]
  return undecided.reduce<readonly (readonly Row[])[]>(
    (sets, row) => [...sets, ...sets.map((set) => [...set, row])],
    [[]],
  )
}

type OfferOfRow = Offer & { readonly row: Row }

/**
 * Returns the possible sets of open offers of these rows: none, each alone, and each with all before it. Each may be the
 * latest, with every other row waiting or offered.
 */
function offersAt(rows: readonly Row[], now: number): readonly (readonly OfferOfRow[])[] {
  const offers = rows
    .flatMap((row) => row.offers.filter((offer) => isOpenAt(offer, now)).map((offer) => ({ ...offer, row })))
    .toSorted((one, other) => (one.at < other.at ? -1 : 1))
  const together = offers.slice(1).map((_offer, index) => offers.slice(0, index + 2))
  return [[], ...offers.map((offer) => [offer]), ...together]
}

function queueOf(rows: readonly Row[], offers: readonly OfferOfRow[], shown: QueueThen['shown']): QueueThen {
  const offered = new Set(offers.map(({ row }) => row))
  const open = rows.map((row) => {
    const state: 'waiting' | 'offered' = offered.has(row) ? 'offered' : 'waiting'
    return [row.formId, { state, queuedAt: row.queuedAt }] as const
  })
  const last = offers.at(-1)
  return { shown, open: new Map(open), offered: last && { formId: last.row.formId, at: last.at } }
}
