import { useNavigate } from '@tanstack/react-router'
import type { CountedPeriod } from '../../../src/forms/api.ts'
import { Switch, type SwitchProps } from '../parts/switch.tsx'
import { Time } from '../parts/time.tsx'

/** Of the address; absent: a day. */
export type Hours = 1 | undefined

const PERIODS: SwitchProps<Hours>['options'] = [
  { value: 1, label: 'Last hour' },
  { value: undefined, label: 'Last 24 hours' },
]

export function PeriodSwitch({ hours }: { readonly hours: Hours }) {
  const navigate = useNavigate()
  return (
    <Switch
      label="Figures of"
      options={PERIODS}
      chosen={hours}
      onChoose={(value) => void navigate({ to: '.', replace: true, search: (now) => ({ ...now, hours: value }) })}
    />
  )
}

/** Where figures come from, since when, and what is missing in them. */
export function PeriodNote({ period }: { readonly period: CountedPeriod }) {
  const { since, completeSince, isWhole, processes, answering } = period
  return (
    <p className={isWhole ? 'quiet source' : 'note warning'}>
      <span>
        Counted since <Time at={since} /> by {answering === 1 ? 'the evaluator' : `${answering} evaluators`}, in memory.
        {!isWhole && ' It was started then: what became of forms before is missing in these figures.'}
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
      </span>
    </p>
  )
}
