import { compareRows } from './compare-rows.ts'
import { type UserFact, type UserRef, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import { OF_RANGE, type UserRange } from './model.ts'
import type { Snapshot } from './snapshot.ts'

/** The last decision about a user and a form. */
interface Decision {
  readonly recordId: string
  readonly decidedAt: string
  /** `queued`, or the gate's reason. Null: the log does not show it. */
  readonly outcome: string | null
}

interface DecisionRow extends UserRef {
  readonly formId: string
}

/** `decisions` of the evaluator: why a form did, or did not, reach a user (docs/spec/forms.md, Gates). */
export interface DecisionsModel {
  /** `null`: one of several outcomes. */
  readonly decide: (fact: UserFact, formId: string, outcome: string | null) => void
  /** Whether the record triggered the form is unknown, so the last decision is unknown, too. */
  readonly markUnknown: (fact: UserFact, formId: string) => void
  /** For all of the user's forms, from now on. */
  readonly markUserUnknown: (fact: UserFact) => void
  readonly compareUsers: (snapshot: Snapshot, range: UserRange, findings: Findings) => Promise<void>
}

export function createDecisionsModel(): DecisionsModel {
  const last = new Map<string, Decision>()
  const unknown = new Set<string>()

  return {
    decide: (fact, formId, outcome) => {
      const key = `${userKey(fact)}/${formId}`
      unknown.delete(key)
      last.set(key, { recordId: fact.id, decidedAt: fact.received, outcome })
    },

    markUnknown: (fact, formId) => unknown.add(`${userKey(fact)}/${formId}`),

    markUserUnknown: (fact) => unknown.add(userKey(fact)),

    compareUsers: async (snapshot, { first, last: end }, findings) => {
      const isKnown = (key: string) => !unknown.has(key) && !unknown.has(key.slice(0, key.lastIndexOf('/')))
      for (const key of last.keys()) if (!isKnown(key)) last.delete(key)
      await compareRows({
        table: 'forms.decisions',
        expected: last,
        cellsOf: ({ outcome, ...which }) => ({ ...which, ...(outcome !== null && { outcome }) }),
        rows: only(
          snapshot.rows<DecisionRow>(
            `SELECT organization, project, user_id AS "userId", form_id AS "formId", record_id AS "recordId",
               decided_at AS "decidedAt", outcome FROM decisions ${OF_RANGE}`,
            [first, end],
          ),
          (row) => isKnown(keyOf(row)),
        ),
        keyOf,
        findings,
      })
      unknown.clear()
    },
  }
}

function keyOf(row: DecisionRow): string {
  return `${userKey(row)}/${row.formId}`
}

async function* only<Row>(rows: AsyncIterable<Row>, isWanted: (row: Row) => boolean): AsyncGenerator<Row> {
  for await (const row of rows) if (isWanted(row)) yield row
}
