import {
  type Form,
  type GateCounts,
  type GateCountsAnswer,
  GateReason,
  type OpenCountsAnswer,
} from '@nextvisit/contracts'
import { reasonInWords } from '@nextvisit/domain'
import type { Answer } from '../api-routes.ts'
import type { FormSummary, ListedForm, StoppedBy } from './api.ts'

const HOUR_MS = 3_600_000

/** Counts of one process of the evaluator; undefined: it does not answer. */
export type ProcessCounts = GateCountsAnswer | undefined

/** Returns the counted part of the last `hours`; undefined if no process answers. */
export function periodOf(
  processes: readonly ProcessCounts[],
  hours: number,
  nowMs: number,
): Answer<'readFormQueue'>['period'] | undefined {
  const begins = processes.flatMap((counts) => counts?.since ?? []).toSorted()
  const [since, completeSince] = [begins[0], begins.at(-1)]
  if (since === undefined || completeSince === undefined) return undefined
  const isWhole = Date.parse(since) <= nowMs - hours * HOUR_MS
  return { since, completeSince, isWhole, processes: processes.length, answering: begins.length }
}

/** Adds up the counts of all processes for the form at this index of the question. */
export function stoppedOf(processes: readonly ProcessCounts[], index: number): StoppedBy {
  const all: readonly GateCounts[] = processes.flatMap((counts) => counts?.forms[index] ?? [])
  const sum = (reason: GateReason): number => all.reduce((total, counts) => total + (counts[reason] ?? 0), 0)
  return GateReason.options
    .map((reason) => ({ reason, words: reasonInWords(reason), count: sum(reason) }))
    .filter(({ count }) => count > 0)
    .toSorted((one, other) => other.count - one.count)
}

/** Returns the reason why a form can or cannot be queued now. */
export function stateOf(form: Form | undefined, nowMs: number): FormSummary['state'] {
  if (!form) return 'gone'
  if (!form.enabled) return 'disabled'
  if (form.startsAt !== undefined && Date.parse(form.startsAt) > nowMs) return 'not-yet'
  return form.endsAt !== undefined && Date.parse(form.endsAt) <= nowMs ? 'over' : 'live'
}

/** Describes a form of the workspace file. `form` undefined: it is not there. */
export function listedForm(formId: string, form: Form | undefined, nowMs: number): ListedForm {
  return { formId, name: form?.name ?? null, state: stateOf(form, nowMs) }
}

/** Returns the open rows of the form at this index of the question. */
export function openOf({ forms }: OpenCountsAnswer, index: number): FormSummary['open'] {
  return forms[index] ?? { count: 0, isMore: false, oldestAt: null }
}
