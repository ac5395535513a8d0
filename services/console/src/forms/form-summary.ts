import type { Form, FormStep, FormStepCounts, FormStepsAnswer, OpenCountsAnswer } from '@nextvisit/contracts'
import { GateReason } from '@nextvisit/contracts'
import type { CountedPeriod, FormFigures, FormSummary } from '../api/forms.ts'
import { GATE_REASONS } from './gate-reasons.ts'

/** What the evaluator's processes have counted. */
export interface CountedSteps {
  readonly processes: number
  /** Of those that answer: one or more. */
  readonly answers: readonly FormStepsAnswer[]
}

/** Over which time. */
export function periodOf({ processes, answers }: CountedSteps): CountedPeriod {
  const beginsMs = answers.map(({ since }) => Date.parse(since))
  const [first, last] = [Math.min(...beginsMs), Math.max(...beginsMs)]
  return {
    since: new Date(first).toISOString(),
    completeSince: new Date(last).toISOString(),
    processes,
    answering: answers.length,
  }
}

/** What became of the form that stands at this place of the question, over all processes. */
export function figuresOf({ answers }: CountedSteps, place: number): FormFigures {
  const all: readonly FormStepCounts[] = answers.flatMap(({ forms }) => forms[place] ?? [])
  const sum = (step: FormStep): number => all.reduce((total, counts) => total + (counts[step] ?? 0), 0)
  const stopped = GateReason.options
    .map((reason) => ({ reason, words: GATE_REASONS[reason], count: sum(reason) }))
    .filter(({ count }) => count > 0)
    .toSorted((one, other) => other.count - one.count)
  const queued = sum('queued')
  return {
    matched: queued + stopped.reduce((total, { count }) => total + count, 0),
    queued,
    offered: sum('offered'),
    delivered: sum('delivered'),
    expired: sum('expired'),
    cancelled: sum('cancelled'),
    stopped,
  }
}

/** Whether a form can be queued now. */
export function stateOf(form: Form | undefined, nowMs: number): FormSummary['state'] {
  if (!form) return 'gone'
  if (!form.enabled) return 'disabled'
  if (form.startsAt !== undefined && Date.parse(form.startsAt) > nowMs) return 'not-yet'
  return form.endsAt !== undefined && Date.parse(form.endsAt) <= nowMs ? 'over' : 'live'
}

export interface FormParts {
  readonly formId: string
  /** Of the workspace; undefined: it no longer has it. */
  readonly form: Form | undefined
  readonly steps: CountedSteps
  readonly open: OpenCountsAnswer
  /** Of the form in the question. */
  readonly place: number
  readonly nowMs: number
}

export function formSummaryOf({ formId, form, steps, open, place, nowMs }: FormParts): FormSummary {
  return {
    formId,
    name: form?.name ?? null,
    state: stateOf(form, nowMs),
    figures: figuresOf(steps, place),
    open: open.forms[place] ?? { count: 0, isMore: false, oldestAt: null },
  }
}
