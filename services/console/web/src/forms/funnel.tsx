import type { FormFunnel } from '@nextvisit/contracts'
import { figure } from '../components/figures.ts'
import { percent } from './percent.ts'
import { Share } from './share.tsx'

interface FunnelStep {
  readonly label: string
  readonly about: string
  /** undefined: not known. */
  readonly count: number | undefined
  /** The step that it is a share of. */
  readonly of?: readonly [label: string, count: number | undefined]
  readonly kind: 'on' | 'off'
}

interface FunnelProps {
  readonly funnel: FormFunnel
  /** Answers to offers that their user never had. */
  readonly unmatched: number
}

/** The steps of a form from the queue to the last answer. */
export function Funnel({ funnel, unmatched }: FunnelProps) {
  const { queued, delivered, started, finished, dismissed, expired } = funnel
  const steps: readonly FunnelStep[] = [
    { label: 'Queued', about: 'every gate passed', count: queued, kind: 'on' },
    { label: 'Delivered', about: 'shown to the user', count: delivered, of: ['queued', queued], kind: 'on' },
    { label: 'Started', about: 'a question was answered', count: started, of: ['delivered', delivered], kind: 'on' },
    { label: 'Finished', about: 'the user sent the form', count: finished, of: ['delivered', delivered], kind: 'on' },
    { label: 'Dismissed', about: 'the user closed it', count: dismissed, of: ['delivered', delivered], kind: 'off' },
    { label: 'Expired', about: 'no visit came in time', count: expired, of: ['queued', queued], kind: 'off' },
  ]
  const known = steps.filter((step) => step.count !== undefined)
  const largest = Math.max(...known.map(({ count = 0 }) => count))
  return (
    <section className="card table-card">
      <h2>From the queue to the answer</h2>
      <ol className="funnel">
        {known.map(({ label, about, count = 0, of, kind }) => (
          <li key={label}>
            <b>{label}</b>
            <span className="num count">{figure(count)}</span>
            <Share value={count} of={largest} kind={kind} />
            <span className="quiet">{[about, of && shareOf(count, ...of)].filter(Boolean).join(', ')}</span>
          </li>
        ))}
      </ol>
      <p className="quiet foot">
        Each step counts on the UTC day when it happened. A delivered form may have been queued before this period.
        {queued === undefined && ' Queued and expired forms have no language.'}
        {unmatched > 0 && ` Not counted: ${figure(unmatched)} answers to forms that their user never got.`}
      </p>
    </section>
  )
}

/** Returns null for an unknown or empty base, or if the count exceeds it: some forms were queued before the period. */
function shareOf(count: number, label: string, all = 0): string | null {
  return all === 0 || count > all ? null : `${percent(count, all)} of ${label}`
}
