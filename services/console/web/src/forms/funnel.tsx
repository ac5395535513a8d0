import type { FormFigures } from '../../../src/forms/api.ts'
import { figure } from '../parts/figures.ts'
import { Share } from './share.tsx'

interface FunnelStep {
  readonly label: string
  readonly about: string
  readonly count: number
  /** Of which other step it is a part. */
  readonly of?: readonly [label: string, count: number]
  readonly kind: 'on' | 'off'
}

/** What became of a form after a trigger of it matched. */
export function Funnel({ figures }: { readonly figures: FormFigures }) {
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
      <p className="quiet foot">
        A form that is offered, delivered or expires now may have been queued before this period.
      </p>
    </section>
  )
}

/** Nothing where it would say nothing, or more than all: a part may be of what was before. */
function percent(count: number, label: string, all: number): string | null {
  return all === 0 || count > all ? null : `${figure((count / all) * 100)} % of ${label}`
}
