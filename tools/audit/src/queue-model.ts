import type { Catalog } from './catalog.ts'
import { compareRows } from './compare-rows.ts'
import { type FormFact, type Queued, type UserFact, type UserRef, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import { type FoldedFact, OF_RANGE, type UserRange } from './model.ts'
import type { Snapshot } from './snapshot.ts'
import { uuidV5 } from './uuid-v5.ts'

/** A row of `queue`. An open offer counts as waiting. */
interface QueueRow {
  readonly formId: string
  readonly state: 'waiting' | 'delivered' | 'expired' | 'cancelled'
  readonly priority: number
  readonly queuedAt: string
  readonly showFrom: string
  readonly expiresAt: string | null
  readonly shownAt: string | null
  readonly visitId: string | null
  readonly causeId: string
  readonly catalogRevision: number
}

interface StoredRow extends UserRef {
  readonly id: string
  readonly state: QueueRow['state'] | 'offered'
}

/** Compares the evaluator's log of decisions with its queue, and each decision with the record that triggered it. */
export interface QueueModel {
  /** Called with each fact of `form-events`. `isLater`: it may be newer than the snapshot. Drops repeats by their id. */
  readonly foldForm: (fact: FormFact, how: { readonly isLater: boolean }) => void
  /** Called with any record of a user of this pass, folded or not: it may be what triggered a form. */
  readonly see: (fact: UserFact) => void
  /** Called with each record that the evaluator has folded. */
  readonly foldUser: (fact: UserFact, how: FoldedFact) => void
  readonly compareUsers: (snapshot: Snapshot, range: UserRange, findings: Findings) => Promise<void>
}

/** `queuedBy`, where given, counts the forms that each record puts into the queue, by the record's id. */
export function createQueueModel(findings: Findings, catalog: Catalog, queuedBy?: Map<string, number>): QueueModel {
  const known = new Set<string>()
  /** As of the snapshot. */
  const rows = new Map<string, QueueRow>()
  /** Rows with facts that may be newer than the snapshot: they may differ. */
  const moving = new Set<string>()
  /** What must be in `user-events`, by the id of the record. An entry is removed once the record was seen. */
  const causes = new Map<string, Queued[]>()
  const visits = new Map<string, string>()
  const confirmed = new Set<string>()
  const open = new Map<string, number>()
  const shown = new Map<string, number>()

  const enqueue = (key: string, fact: Queued): void => {
    const { formId, priority, at, showFrom, expiresAt = null, causeId, catalogRevision } = fact
    const slot = `${userKey(fact)}/${formId}`
    const [waiting = 0, times = 0] = [open.get(slot), shown.get(slot)]
    const limit = catalog.project(fact.organization, fact.project, catalogRevision)?.forms.get(formId)?.times
    if (waiting > 0) findings.add('form-events: two waiting', slot, `was queued while it waits (${fact.queuedId})`)
    if (limit !== undefined && waiting + times >= limit) {
      findings.add('form-events: too often', slot, `was queued a further time (${fact.queuedId}); it may be ${limit}`)
    }
    open.set(slot, waiting + 1)
    queuedBy?.set(causeId, (queuedBy.get(causeId) ?? 0) + 1)
    causes.set(causeId, [...(causes.get(causeId) ?? []), fact])
    const fixed = { formId, priority, queuedAt: at, showFrom, expiresAt, causeId, catalogRevision }
    rows.set(key, { ...fixed, state: 'waiting', shownAt: null, visitId: null })
  }

  const move = (key: string, before: QueueRow, fact: Exclude<FormFact, Queued>): void => {
    const slot = `${userKey(fact)}/${fact.formId}`
    if (before.state === 'waiting') open.set(slot, (open.get(slot) ?? 1) - 1)
    if (fact.type !== 'FormDelivered') {
      rows.set(key, { ...before, state: fact.type === 'FormExpired' ? 'expired' : 'cancelled' })
      return
    }
    if (before.state !== 'delivered') shown.set(slot, (shown.get(slot) ?? 0) + 1)
    const shownAt = before.shownAt !== null && before.shownAt > fact.at ? before.shownAt : fact.at
    rows.set(key, { ...before, state: 'delivered', shownAt, visitId: fact.visitId })
    visits.set(`${fact.queuedId}/${fact.visitId}`, key)
    confirmed.add(`${fact.queuedId}/${fact.visitId}`)
  }

  return {
    foldForm: (fact, { isLater }) => {
      if (known.has(fact.id)) return
      known.add(fact.id)
      const key = `${userKey(fact)}/${fact.queuedId}`
      if (isLater) moving.add(key)
      const visit = fact.type === 'FormDelivered' ? fact.visitId : ''
      if (fact.id !== uuidV5(`${fact.type}/${visit}`, fact.queuedId)) {
        findings.add('form-events: id', key, `${fact.type} has another id than its row gives it`)
      }
      const before = rows.get(key)
      if (fact.type === 'FormQueued') enqueue(key, fact)
      else if (before) move(key, before, fact)
      else findings.add('form-events: never queued', key, `${fact.type} of a form that was not queued`)
    },

    see: (fact) => {
      if (fact.type === 'VisitAnswered') visits.delete(`${fact.queuedId}/${fact.visitId}`)
      const waiting = causes.get(fact.id)
      if (!waiting) return
      const others = waiting.filter(
        ({ queuedId, formId }) => queuedId !== uuidV5(`${fact.received}/${formId}`, fact.id),
      )
      if (others.length === 0) causes.delete(fact.id)
      else causes.set(fact.id, others)
    },

    foldUser: (fact, { isLate }) => {
      if (fact.type !== 'VisitAnswered' || isLate) return
      const key = `${userKey(fact)}/${fact.queuedId}`
      if (rows.has(key) && !confirmed.has(`${fact.queuedId}/${fact.visitId}`)) {
        findings.add('form-events: not delivered', key, `the visit ${fact.visitId} was answered with it`)
      }
    },

    compareUsers: async (snapshot, { first, last }) => {
      for (const fact of [...causes.values()].flat()) {
        findings.add(
          'form-events: cause',
          `${userKey(fact)}/${fact.queuedId}`,
          `no record ${fact.causeId} gives this id`,
        )
      }
      for (const [visit, key] of visits) findings.add('form-events: no visit', key, `no record tells of ${visit}`)
      await compareRows({
        table: 'forms.queue',
        expected: new Map([...rows].filter(([key]) => !moving.has(key))),
        rows: withoutMoving(
          snapshot.rows<StoredRow>(
            `SELECT organization, project, user_id AS "userId", id, form_id AS "formId", state, priority,
               queued_at AS "queuedAt", show_from AS "showFrom", expires_at AS "expiresAt", shown_at AS "shownAt",
               visit_id AS "visitId", cause_id AS "causeId", catalog_revision AS "catalogRevision"
             FROM queue ${OF_RANGE}`,
            [first, last],
          ),
          moving,
        ),
        keyOf: keyOfRow,
        foundIn: (row) => ({ ...row, state: row.state === 'offered' ? 'waiting' : row.state }),
        findings,
      })
      for (const each of [known, rows, moving, causes, visits, confirmed, open, shown]) each.clear()
    },
  }
}

function keyOfRow(row: StoredRow): string {
  return `${userKey(row)}/${row.id}`
}

/** A row that changed during the audit is compared the next time. */
async function* withoutMoving(rows: AsyncIterable<StoredRow>, moving: ReadonlySet<string>): AsyncGenerator<StoredRow> {
  for await (const row of rows) if (!moving.has(keyOfRow(row))) yield row
}
