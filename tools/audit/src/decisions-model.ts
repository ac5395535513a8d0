import { compareRows, isoOf } from './compare-rows.ts'
import { type UserFact, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import { OF_RANGE, type UserRange } from './model.ts'
import type { Snapshot } from './snapshot.ts'

/** The last of a user and form. */
interface Decision {
  readonly recordId: string
  readonly decidedAt: string
  /** `queued`, or the gate's reason; null: the log does not tell. */
  readonly outcome: string | null
}

interface DecisionRow {
  readonly organization: string
  readonly project: string
  readonly userId: string
  readonly formId: string
  readonly recordId: string
  readonly decidedAt: Date
  readonly outcome: string
}

/** `decisions` of the evaluator: why a form did, or did not, reach a user (docs/spec/forms.md, Gates). */
export interface DecisionsModel {
  /** `null`: either of several outcomes. */
  readonly decide: (fact: UserFact, formId: string, outcome: string | null) => void
  /** It is not even known whether the record set it off: what was decided last is not known either. */
  readonly loseSight: (fact: UserFact, formId: string) => void
  /** Of all of the user's forms, from now on. */
  readonly loseSightOfUser: (fact: UserFact) => void
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

    loseSight: (fact, formId) => unknown.add(`${userKey(fact)}/${formId}`),

    loseSightOfUser: (fact) => unknown.add(userKey(fact)),

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
        foundIn: ({ recordId, decidedAt, outcome }) => ({ recordId, decidedAt: isoOf(decidedAt), outcome }),
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
