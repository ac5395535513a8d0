import { isDeepStrictEqual } from 'node:util'
import { compareRows } from './compare-rows.ts'
import { type ClearFact, type UserRef, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import type { GatesThen } from './gates.ts'
import { OF_RANGE, type UserRange } from './model.ts'
import type { Snapshot } from './snapshot.ts'

/** A decision that the evaluator may have stored, by any revision from `first` to `last`. */
export interface PossibleDecision {
  readonly first: number
  readonly last: number
  /** Outcome: `queued`, or the gate's reason. */
  readonly outcome: string
  /** {@link Details} as JSON text, to save memory. */
  readonly details: string
}

interface Details {
  /** Trigger in the workspace file. */
  readonly trigger: object | null
  readonly gates: GatesThen['gates']
}

/** Last decision about a user and a form. */
interface Decision {
  readonly recordId: string
  readonly decidedAt: string
  /** Possible decisions; none: the log does not determine them. */
  readonly possible: readonly PossibleDecision[]
  /** Position in the order of decisions. */
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

/** Creates the model of the evaluator's `decisions`: why a form did, or did not, reach a user (forms.md, Gates). */
export function createDecisionsModel() {
  const last = new Map<string, Decision>()
  const unknown = new Set<string>()
  /** Position by user before which decisions are unknown. */
  const unknownUntil = new Map<string, number>()
  let decided = 0

  return {
    decide: (fact: ClearFact, formId: string, possible: readonly PossibleDecision[]): void => {
      const key = `${userKey(fact)}/${formId}`
      unknown.delete(key)
      last.set(key, { recordId: fact.id, decidedAt: fact.received, possible, nth: decided++ })
    },

    /** Marks the last decision as unknown, because it is unknown whether the record triggered the form. */
    markUnknown: (fact: ClearFact, formId: string): void => void unknown.add(`${userKey(fact)}/${formId}`),

    /** Marks the decisions about all of the user's forms as unknown, from now on. */
    markUserUnknown: (fact: ClearFact): void => void unknown.add(userKey(fact)),

    /**
     * Marks the decisions about all of the user's forms as unknown until each is decided again, because the set of
     * forms is unknown.
     */
    markFormsUnknown: (fact: ClearFact): void => void unknownUntil.set(userKey(fact), decided),

    compareUsers: async (snapshot: Snapshot, { first, last: end }: UserRange, findings: Findings): Promise<void> => {
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

/** Requires a row to equal one of these decisions. Reports the first column that matches none, without values. */
function compareDetails(row: DecisionRow, possible: readonly PossibleDecision[], findings: Findings): void {
  const { catalogRevision, outcome } = row
  const report = (column: string, says: string) => findings.add(`forms.decisions: ${column}`, keyOf(row), says)
  if (possible.length === 0) return
  const ofRevision = possible.filter(({ first, last }) => catalogRevision >= first && catalogRevision <= last)
  if (ofRevision.length === 0) return report('catalogRevision', `is ${catalogRevision}, which decides differently`)
  const ofOutcome = ofRevision.filter((one) => one.outcome === outcome)
  const reasons = new Set(ofRevision.map((one) => one.outcome))
  if (ofOutcome.length === 0) return report('outcome', `${outcome} instead of ${[...reasons].join(' or ')}`)
  const found = JSON.parse(row.details) as Details
  const expected = ofOutcome.map(({ details }) => JSON.parse(details) as Details)
  if (!expected.some(({ trigger }) => isDeepStrictEqual(trigger, found.trigger))) {
    return report('trigger', 'is not the first that matches')
  }
  const differing = expected.map(({ gates }) => firstDifference(gates, found.gates))
  if (!differing.includes(undefined)) report('gates', `${differing[0]} differs from the log`)
}

/** Gates that were added after the first release. An older decision may lack one of them, if it passes. */
const ADDED_LATER: ReadonlySet<string> = new Set()

/** Returns the first differing gate; undefined: none. A stored decision may lack a gate of `addedLater` that passes. */
export function firstDifference(
  expected: Details['gates'],
  found: Details['gates'],
  addedLater = ADDED_LATER,
): string | undefined {
  const stored = new Set(found.map(({ gate }) => gate))
  const comparable = expected.filter(({ gate, passed }) => stored.has(gate) || !passed || !addedLater.has(gate))
  const length = Math.max(comparable.length, found.length)
  for (let place = 0; place < length; place++) {
    const [one, other] = [comparable[place], found[place]]
    if (!isDeepStrictEqual(one, other)) return one?.gate ?? other?.gate
  }
  return undefined
}
