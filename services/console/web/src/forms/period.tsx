import { useNavigate } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import { Switch, type SwitchProps } from '../components/switch.tsx'
import { Time } from '../components/time.tsx'

/** From the address; absent: 24 hours. */
type Hours = 1 | undefined

const PERIODS: SwitchProps<Hours>['options'] = [
  { value: 1, label: 'Last hour' },
  { value: undefined, label: 'Last 24 hours' },
]

export function PeriodSwitch({ hours }: { readonly hours: Hours }) {
  const navigate = useNavigate()
  return (
    <Switch
      label="Period"
      options={PERIODS}
      chosen={hours}
      onChoose={(value) => void navigate({ to: '.', replace: true, search: (now) => ({ ...now, hours: value }) })}
    />
  )
}

/** Origin of the counted gates, their start, and their gaps. */
export function PeriodNote({ period }: { readonly period: Answer<'readFormQueue'>['period'] }) {
  const { since, completeSince, isWhole, processes, answering } = period
  return (
    <p className={answering < processes ? 'note warning' : 'quiet source'}>
      <span>
        Gates are counted since <Time at={since} /> by {answering === 1 ? 'the evaluator' : `${answering} evaluators`},
        in memory.
        {!isWhole && ' It started then, so these figures do not include earlier events.'}
        {completeSince > since && (
          <>
            {' '}
            One of them started at <Time at={completeSince} />, so its earlier decisions are missing.
          </>
        )}
        {answering < processes && (
          <>
            {' '}
            {processes - answering} of {processes} evaluators do not answer, so their decisions are missing.
          </>
        )}{' '}
        Waiting forms are counted in the queue, live.
      </span>
    </p>
  )
}
