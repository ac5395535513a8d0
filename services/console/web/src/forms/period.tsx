import { useNavigate } from '@tanstack/react-router'
import type { CountedPeriod } from '../../../src/api/forms.ts'
import { Time } from '../parts/time.tsx'

/** Of the address; absent: a day. */
export type Hours = 1 | undefined

const PERIODS: readonly { readonly hours: Hours; readonly label: string }[] = [
  { hours: 1, label: 'Last hour' },
  { hours: undefined, label: 'Last 24 hours' },
]

export function PeriodSwitch({ hours }: { readonly hours: Hours }) {
  const navigate = useNavigate()
  return (
    <fieldset className="switch" aria-label="Figures of">
      {PERIODS.map((period) => (
        <button
          key={period.label}
          type="button"
          aria-pressed={period.hours === hours}
          onClick={() => void navigate({ to: '.', replace: true, search: (now) => ({ ...now, hours: period.hours }) })}
        >
          {period.label}
        </button>
      ))}
    </fieldset>
  )
}

/** Where figures come from, since when, and what is missing in them. */
export function PeriodNote({ period }: { readonly period: CountedPeriod }) {
  const { since, completeSince, processes, answering } = period
  return (
    <p className="quiet source">
      Counted since <Time at={since} /> by {answering === 1 ? 'the evaluator' : `${answering} evaluators`}, in memory.
      {completeSince > since && (
        <>
          {' '}
          One of them was started at <Time at={completeSince} />: what it decided before is missing.
        </>
      )}
      {answering < processes && (
        <>
          {' '}
          {processes - answering} of {processes} evaluators do not answer: what they decided is missing.
        </>
      )}{' '}
      What waits is counted now, in the queue.
    </p>
  )
}
