import type { Catalog } from './catalog.ts'
import { compareRows } from './compare-rows.ts'
import { createAnswerOutcomes, NO_ANSWERS, type RowAnswers } from './answer-outcomes.ts'
import {
  type ClearFact,
  type FormAnswered,
  type FormFact,
  isQueuedBy,
  type FormQueued,
  type UserRef,
  userKey,
} from './facts.ts'
import type { Findings } from './findings.ts'
import { isEnabledSince, misconfigured, wrongEnd } from './form-fact-rules.ts'
import { type FoldedFact, OF_RANGE, type UserRange } from './model.ts'
import { OFFER_HOLDS_MS } from './queue-history.ts'
import type { Snapshot } from './snapshot.ts'
import { uuidV5 } from './uuid-v5.ts'

/** Time in ms within which ticks, which run every second, must have changed a row. */
const TICKED_WITHIN_MS = 60_000

/** A row of `queue` according to its facts. An open offer counts as waiting, because it is not in the log. */
interface QueueRow extends RowAnswers {
  readonly formId: string
  readonly environment: 'P' | 'T'
  readonly state: 'waiting' | 'answered' | 'delivered' | 'expired' | 'cancelled'
  readonly priority: number
  readonly queuedAt: string
  readonly showFrom: string
  readonly expiresAt: string | null
  readonly shownAt: string | null
  readonly visitId: string | null
  readonly causeId: string
  readonly catalogRevision: number
}

interface StoredRow extends UserRef, Pick<QueueRow, 'formId' | 'expiresAt' | 'catalogRevision'> {
  readonly id: string
  readonly state: QueueRow['state'] | 'offered'
  readonly offeredAt: string | null
  readonly partition: number
  /** Time of the snapshot, by Postgres' clock. */
  readonly asOf: string
}

/** Compares the evaluator's log of decisions with its queue, and each decision with the record that triggered it. */
export interface QueueModel {
  /** Receives each fact of `form-events`. `isLater`: it may be newer than the snapshot. Drops repeats by id. */
  readonly foldForm: (fact: FormFact, how: { readonly isLater: boolean }) => void
  /** Receives any record of a user of this pass, folded or not, because it may have triggered a form. */
  readonly see: (fact: ClearFact, offset: bigint) => void
  /** Receives each record that the evaluator has folded. */
  readonly foldUser: (fact: ClearFact, how: FoldedFact) => void
  readonly foldLost: (fact: ClearFact, how: FoldedFact) => void
  readonly compareUsers: (snapshot: Snapshot, range: UserRange, findings: Findings) => Promise<void>
}

interface QueueModelOptions {
  readonly findings: Findings
  readonly catalog: Catalog
  /** True if the effects of time and of the catalog's latest revision must be visible, too. */
  readonly isAtRest: boolean
  /** Returns true if a visit received at this instant may have been offered the row. `key`: of user and row. */
  readonly mayBeOffered: (key: string, at: string) => boolean
  /** Returns whether an erasure that the snapshot has passed covers the cause of a row. */
  readonly isErased: (fact: FormQueued) => boolean
  /** Counts the forms that each record queues, by record id. */
  readonly queuedBy?: Map<string, number> | undefined
}

export function createQueueModel(options: QueueModelOptions): QueueModel {
  const { findings, catalog, queuedBy } = options
  const known = new Set<string>()
  const outcomes = createAnswerOutcomes(findings)
  /** Rows as of the snapshot. */
  const rows = new Map<string, QueueRow>()
  /** Rows with facts that may be newer than the snapshot, which may differ. */
  const moving = new Set<string>()
  /** Facts whose cause must be in `user-events`, by record id. An entry is removed once the record was seen. */
  const causes = new Map<string, FormQueued[]>()
  const visits = new Map<string, string>()
  const confirmed = new Set<string>()
  const open = new Map<string, number>()
  const shown = new Map<string, number>()
  const partitions = new Map<string, number>()
  /** Rows that an erasure has deleted. */
  const erased = new Set<string>()

  const expectCause = (fact: FormQueued): void => {
    const { causeId } = fact
    queuedBy?.set(causeId, (queuedBy.get(causeId) ?? 0) + 1)
    causes.set(causeId, [...(causes.get(causeId) ?? []), fact])
  }

  const enqueue = (key: string, fact: FormQueued): void => {
    const { formId, environment, priority, at, showFrom, expiresAt = null, causeId, catalogRevision } = fact
    const slot = `${userKey(fact)}/${formId}`
    const [waiting = 0, times = 0] = [open.get(slot), shown.get(slot)]
    const form = catalog.project(fact.organization, fact.project, catalogRevision)?.forms.get(formId)
    const isKnown = catalog.isKnown(fact.organization, catalogRevision)
    const missing = isKnown ? [`revision ${catalogRevision} does not have the form`] : []
    for (const says of form ? misconfigured(fact, form) : missing) {
      findings.add('form-events: not as configured', slot, says)
    }
    const limit = form?.times
    if (waiting > 0)
      findings.add('form-events: two waiting', slot, `was queued while it was waiting (${fact.queuedId})`)
    if (limit !== undefined && waiting + times >= limit) {
      findings.add('form-events: too often', slot, `was queued again (${fact.queuedId}); the maximum is ${limit}`)
    }
    open.set(slot, waiting + 1)
    const fixed = { formId, environment, priority, queuedAt: at, showFrom, expiresAt, causeId, catalogRevision }
    rows.set(key, { ...fixed, ...NO_ANSWERS, state: 'waiting', shownAt: null, visitId: null })
  }

  /** Compares the cause that a fact names with that of its row. Earlier versions named none. */
  const compareCause = (key: string, { type, formId, causeId }: FormFact): void => {
    const row = rows.get(key)
    if (!row && type !== 'FormAnswered') return
    const expected = row?.formId === formId ? row.causeId : undefined
    if (causeId !== undefined && causeId !== expected)
      findings.add('form-events: causeId', key, `${type} names ${causeId} instead of ${expected ?? 'none'}`)
  }

  const move = (key: string, before: QueueRow, fact: Exclude<FormFact, FormQueued | FormAnswered>): void => {
    const slot = `${userKey(fact)}/${before.formId}`
    const wrong = wrongEnd(fact, before, catalog)
    if (wrong !== undefined) findings.add(`form-events: ${fact.type} by mistake`, slot, `${fact.queuedId} ${wrong}`)
    if (before.state === 'waiting') open.set(slot, (open.get(slot) ?? 1) - 1)
    if (fact.type !== 'FormDelivered') {
      rows.set(key, { ...before, state: fact.type === 'FormExpired' ? 'expired' : 'cancelled' })
      return
    }
    if (before.state !== 'delivered') shown.set(slot, (shown.get(slot) ?? 0) + 1)
    const shownAt = before.shownAt !== null && before.shownAt > fact.at ? before.shownAt : fact.at
    rows.set(key, { ...before, state: 'delivered', shownAt, visitId: fact.visitId })
    visits.set(`${fact.queuedId}/${fact.visitId}/${fact.at}`, key)
    confirmed.add(`${fact.queuedId}/${fact.visitId}`)
  }

  /** An answer that ends a waiting row takes it out of the queue. */
  const answer = (key: string, fact: FormAnswered): void => {
    const before = rows.get(key)
    const answers = outcomes.decide(fact, before, { isKnown: !erased.has(key) })
    if (!before) return
    const isOut = before.state === 'waiting' && answers.endedAt !== null
    const slot = `${userKey(fact)}/${before.formId}`
    if (isOut) open.set(slot, (open.get(slot) ?? 1) - 1)
    rows.set(key, { ...before, ...answers, state: isOut ? 'answered' : before.state })
  }

  const foldLost: QueueModel['foldLost'] = (fact, { partition }) => {
    partitions.set(userKey(fact), partition)
    if (fact.type !== 'VisitAnswered') return
    const key = `${userKey(fact)}/${fact.queuedId}`
    if (erased.has(key)) return
    if (!rows.has(key)) findings.add('user-events: never queued', key, `the visit ${fact.visitId} was answered with it`)
    else if (!confirmed.has(`${fact.queuedId}/${fact.visitId}`)) {
      findings.add('form-events: not delivered', key, `the visit ${fact.visitId} was answered with it`)
    }
  }

  return {
    foldForm: (fact, { isLater }) => {
      // Two answers may have one id (decisions.md, Retries).
      const name = fact.type === 'FormAnswered' ? `${fact.id}/${fact.at}` : fact.id
      if (known.has(name)) return
      known.add(name)
      const key = `${userKey(fact)}/${fact.queuedId}`
      if (isLater) moving.add(key)
      if (fact.type !== 'FormQueued' && !erased.has(key)) compareCause(key, fact)
      if (fact.type === 'FormAnswered') return answer(key, fact)
      const visit = fact.type === 'FormDelivered' ? fact.visitId : ''
      if (fact.id !== uuidV5(`${fact.type}/${visit}`, fact.queuedId)) {
        findings.add('form-events: id', key, `the id of ${fact.type} does not match its row`)
      }
      const before = rows.get(key)
      if (fact.type === 'FormQueued') expectCause(fact)
      if (fact.type === 'FormQueued' && options.isErased(fact)) erased.add(key)
      else if (fact.type === 'FormQueued') enqueue(key, fact)
      else if (before) move(key, before, fact)
      else if (!erased.has(key))
        findings.add('form-events: never queued', key, `${fact.type} for a form that was not queued`)
    },

    see: (fact, offset) => {
      if (fact.type === 'AnswerGiven') outcomes.see(fact)
      if (fact.type === 'VisitAnswered') visits.delete(`${fact.queuedId}/${fact.visitId}/${fact.received}`)
      const waiting = causes.get(fact.id)
      if (!waiting) return
      const { found = [], others = [] } = Object.groupBy(waiting, (one) => (isQueuedBy(one, fact) ? 'found' : 'others'))
      for (const { queuedId, at, causeOffset } of found) {
        const about = `${userKey(fact)}/${queuedId}`
        if (causeOffset !== undefined && BigInt(causeOffset) !== offset)
          findings.add('form-events: causeOffset', about, `${causeOffset} instead of ${offset}`)
        if (at !== fact.received) findings.add('form-events: at', about, `${at} instead of ${fact.received}`)
      }
      if (others.length === 0) causes.delete(fact.id)
      else causes.set(fact.id, others)
    },

    foldUser: (fact, how) => {
      foldLost(fact, how)
      if (fact.type === 'AnswerGiven') outcomes.expect(fact)
    },

    foldLost,

    compareUsers: async (snapshot, { first, last }) => {
      for (const fact of [...causes.values()].flat()) {
        findings.add(
          'form-events: cause',
          `${userKey(fact)}/${fact.queuedId}`,
          `record ${fact.causeId} does not produce this id`,
        )
      }
      outcomes.end()
      for (const [visit, key] of visits) findings.add('form-events: no visit', key, `no record of visit ${visit}`)
      await compareRows({
        table: 'forms.queue',
        expected: new Map([...rows].filter(([key]) => !moving.has(key))),
        rows: checkedRows(
          snapshot.rows<StoredRow>(
            `SELECT organization, project, user_id AS "userId", id, form_id AS "formId", environment, state, priority,
               queued_at AS "queuedAt", show_from AS "showFrom", expires_at AS "expiresAt", offered_at AS "offeredAt",
               shown_at AS "shownAt", visit_id AS "visitId", cause_id AS "causeId",
               started_at AS "startedAt", ended_at AS "endedAt", answer_status AS "answerStatus",
               catalog_revision AS "catalogRevision", partition, now() AS "asOf"
             FROM queue ${OF_RANGE}`,
            [first, last],
          ),
          { moving, partitions },
          options,
        ),
        keyOf: keyOfRow,
        foundIn: (row) => ({ ...row, state: row.state === 'offered' ? 'waiting' : row.state }),
        findings,
      })
      for (const each of [known, rows, moving, causes, visits, confirmed, open, shown, partitions]) each.clear()
      erased.clear()
    },
  }
}

/** Checks columns that are not in the row's facts. A row that changed during the audit is compared by the next audit. */
async function* checkedRows(
  stored: AsyncIterable<StoredRow>,
  known: { readonly moving: ReadonlySet<string>; readonly partitions: ReadonlyMap<string, number> },
  options: QueueModelOptions,
): AsyncGenerator<StoredRow> {
  const offers = new Set<string>()
  for await (const row of stored) {
    const key = keyOfRow(row)
    if (known.moving.has(key)) continue
    const report = (column: string, says: string) => options.findings.add(`forms.queue: ${column}`, key, says)
    const offer = `${userKey(row)}/${row.offeredAt}`
    const partition = known.partitions.get(userKey(row)) ?? row.partition
    if (row.partition !== partition) report('partition', `${row.partition} instead of ${partition}`)
    const wrong = wrongOffer(row, options)
    if (wrong !== undefined) report('offeredAt', wrong)
    else if (row.offeredAt !== null && offers.has(offer)) report('offeredAt', 'the visit was offered another row')
    offers.add(offer)
    if (options.isAtRest && isOverdue(row, options.catalog)) {
      report('overdue', `has been ${row.state} for a minute too long`)
    }
    yield row
  }
}

function keyOfRow(row: StoredRow): string {
  return `${userKey(row)}/${row.id}`
}

/** Returns why a row cannot be on offer; undefined: it can, or it is not on offer. */
function wrongOffer(row: StoredRow, { mayBeOffered }: QueueModelOptions): string | undefined {
  const { state, offeredAt } = row
  if (state !== 'offered') return offeredAt === null ? undefined : `is ${offeredAt}, but the row is ${state}`
  if (offeredAt === null) return 'is null, but the row is offered'
  return mayBeOffered(keyOfRow(row), offeredAt) ? undefined : `no visit at ${offeredAt} can have been offered the row`
}

/** Returns whether a tick should have changed an open row: an unconfirmed offer, an expired row, or a row of a removed form. */
function isOverdue({ asOf, ...row }: StoredRow, catalog: Catalog): boolean {
  const before = Date.parse(asOf) - TICKED_WITHIN_MS
  if (row.state === 'offered') return Date.parse(row.offeredAt ?? asOf) < before - OFFER_HOLDS_MS
  if (row.state !== 'waiting') return false
  if (row.expiresAt !== null && Date.parse(row.expiresAt) < before) return true
  const known = Math.max(row.catalogRevision, catalog.revisionAt(row.organization, before))
  return !isEnabledSince(row, known, catalog)
}
