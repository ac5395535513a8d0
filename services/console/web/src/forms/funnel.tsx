import type { FormSummary } from '../../../src/forms/api.ts'
import { figure } from '../components/figures.ts'
import { Share } from './share.tsx'

interface FunnelStep {
  readonly label: string
  readonly about: string
  readonly count: number
  /** The step that it is a share of. */
  readonly of?: readonly [label: string, count: number]
  readonly kind: 'on' | 'off'
}

/** The steps of a form from a matching trigger to its delivery. */
export function Funnel({ figures }: { readonly figures: FormSummary['figures'] }) {
  const { matched, queued, offered, delivered, expired, cancelled } = figures
  const steps: readonly FunnelStep[] = [
    { label: 'Matched', about: 'a trigger of the form matched', count: matched, kind: 'on' },
    { label: 'Queued', about: 'every gate passed', count: queued, of: ['matched', matched], kind: 'on' },
    { label: 'Offered', about: 'to a visit of the user', count: offered, kind: 'on' },
    { label: 'Delivered', about: 'shown to the user', count: delivered, of: ['queued', queued], kind: 'on' },
    { label: 'Expired', about: 'no visit came in time', count: expired, of: ['queued', queued], kind: 'off' },
    ...(cancelled > 0
      ? [
          {
            label: 'Cancelled',
            about: 'the workspace removed or disabled the form while it waited',
            count: cancelled,
            kind: 'off' as const,
          },
        ]
      : []),
  ]
  const largest = Math.max(...steps.map(({ count }) => count))
  return (
    <section className="card table-card">
      <h2>From match to delivery</h2>
      <ol className="funnel">
        {steps.map(({ label, about, count, of, kind }) => (
          <li key={label}>
            <b>{label}</b>
            <span className="num count">{figure(count)}</span>
            <Share value={count} of={largest} kind={kind} />
            <span className="quiet">{[about, of && percent(count, ...of)].filter(Boolean).join(', ')}</span>
          </li>
        ))}
      </ol>
      <p className="quiet foot">Offered, delivered and expired forms may have been queued before this period.</p>
    </section>
  )
}

/** Returns null for an empty base, or if the count exceeds it: some forms were queued before the period. */
function percent(count: number, label: string, all: number): string | null {
  return all === 0 || count > all ? null : `${figure((count / all) * 100)} % of ${label}`
}
