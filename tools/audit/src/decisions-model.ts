import { isDeepStrictEqual } from 'node:util'
import { compareRows } from './compare-rows.ts'
import { type UserFact, type UserRef, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import type { GatesThen } from './gates.ts'
import { OF_RANGE, type UserRange } from './model.ts'
import type { Snapshot } from './snapshot.ts'

/** What the evaluator may have kept, by any revision from `first` to `last`. */
export interface PossibleDecision {
  readonly first: number
  readonly last: number
  /** `queued`, or the gate's reason. */
  readonly outcome: string
  /** {@link Details} as JSON text, because so many are kept. */
  readonly details: string
}

interface Details {
  /** As the workspace file has it. */
  readonly trigger: object | null
  readonly gates: GatesThen['gates']
}

/** The last decision about a user and a form. */
interface Decision {
  readonly recordId: string
  readonly decidedAt: string
  /** None: the log does not show what it was. */
  readonly possible: readonly PossibleDecision[]
  /** Its place in the order of decisions. */
  readonly nth: number
}

interface DecisionRow extends UserRef {
  readonly formId: string
  readonly recordId: string
  readonly decidedAt: string
  readonly outcome: string
  readonly catalogRevision: number
  /** {@link Details} as JSON text. */
  readonly details: string
}

/** `decisions` of the evaluator: why a form did, or did not, reach a user (docs/spec/forms.md, Gates). */
export interface DecisionsModel {
  readonly decide: (fact: UserFact, formId: string, possible: readonly PossibleDecision[]) => void
  /** Whether the record triggered the form is unknown, so the last decision is unknown, too. */
  readonly markUnknown: (fact: UserFact, formId: string) => void
  /** For all of the user's forms, from now on. */
  readonly markUserUnknown: (fact: UserFact) => void
  /** For all of the user's forms, until each is decided again: which forms there were is unknown. */
  readonly markFormsUnknown: (fact: UserFact) => void
  readonly compareUsers: (snapshot: Snapshot, range: UserRange, findings: Findings) => Promise<void>
}

export function createDecisionsModel(): DecisionsModel {
  const last = new Map<string, Decision>()
  const unknown = new Set<string>()
  /** By user: decisions before this one are unknown. */
  const unknownUntil = new Map<string, number>()
  let decided = 0

  return {
    decide: (fact, formId, possible) => {
      const key = `${userKey(fact)}/${formId}`
      unknown.delete(key)
      last.set(key, { recordId: fact.id, decidedAt: fact.received, possible, nth: decided++ })
    },

    markUnknown: (fact, formId) => unknown.add(`${userKey(fact)}/${formId}`),

    markUserUnknown: (fact) => unknown.add(userKey(fact)),

    markFormsUnknown: (fact) => void unknownUntil.set(userKey(fact), decided),

    compareUsers: async (snapshot, { first, last: end }, findings) => {
      const isKnown = (key: string) => {
        const user = key.slice(0, key.lastIndexOf('/'))
        const isDecidedSince = (last.get(key)?.nth ?? -1) >= (unknownUntil.get(user) ?? -1)
        return !unknown.has(key) && !unknown.has(user) && isDecidedSince
      }
      for (const key of last.keys()) if (!isKnown(key)) last.delete(key)
      const rows = snapshot.rows<DecisionRow>(
        `SELECT organization, project, user_id AS "userId", form_id AS "formId", record_id AS "recordId",
           decided_at AS "decidedAt", outcome, catalog_revision AS "catalogRevision",
           jsonb_build_object('trigger', trigger, 'gates', gates)::text AS details FROM decisions ${OF_RANGE}`,
        [first, end],
      )
      const known = async function* () {
        for await (const row of rows) {
          if (!isKnown(keyOf(row))) continue
          const { recordId, possible = [] } = last.get(keyOf(row)) ?? {}
          if (recordId === row.recordId) compareDetails(row, possible, findings)
          yield row
        }
      }
      await compareRows({
        table: 'forms.decisions',
        expected: last,
        cellsOf: ({ recordId, decidedAt }) => ({ recordId, decidedAt }),
        rows: known(),
        keyOf,
        findings,
      })
      unknown.clear()
      unknownUntil.clear()
    },
  }
}

function keyOf(row: DecisionRow): string {
  return `${userKey(row)}/${row.formId}`
}

/** The row must be as one of these decisions. Names the first column in which it is like none. No value is shown. */
function compareDetails(row: DecisionRow, possible: readonly PossibleDecision[], findings: Findings): void {
  const { catalogRevision, outcome } = row
  const report = (column: string, says: string) => findings.add(`forms.decisions: ${column}`, keyOf(row), says)
  if (possible.length === 0) return
  const ofRevision = possible.filter(({ first, last }) => catalogRevision >= first && catalogRevision <= last)
  if (ofRevision.length === 0) return report('catalogRevision', `${catalogRevision}, which decides otherwise`)
  const ofOutcome = ofRevision.filter((one) => one.outcome === outcome)
  const reasons = new Set(ofRevision.map((one) => one.outcome))
  if (ofOutcome.length === 0) return report('outcome', `${outcome} instead of ${[...reasons].join(' or ')}`)
  const found = JSON.parse(row.details) as Details
  const expected = ofOutcome.map(({ details }) => JSON.parse(details) as Details)
  if (!expected.some(({ trigger }) => isDeepStrictEqual(trigger, found.trigger))) {
    return report('trigger', 'is another than the first that matches')
  }
  const differing = expected.map(({ gates }) => firstDifference(gates, found.gates))
  if (!differing.includes(undefined)) report('gates', `${differing[0]} is another than the log says`)
}

/** The first gate that differs. Undefined: none does. */
function firstDifference(expected: Details['gates'], found: Details['gates']): string | undefined {
  const length = Math.max(expected.length, found.length)
  for (let place = 0; place < length; place++) {
    const [one, other] = [expected[place], found[place]]
    if (!isDeepStrictEqual(one, other)) return one?.gate ?? other?.gate
  }
  return undefined
}
