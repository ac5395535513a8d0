import type { CatalogAnswer } from '../../../src/catalog/api.ts'
import { Mark } from '../parts/mark.tsx'
import { RunbookLink } from '../parts/with-links.tsx'

/** Number of processes with the latest revisions. */
export function Views({ views }: { readonly views: NonNullable<CatalogAnswer['views']> }) {
  const { current, lagging, silent, problems } = views
  const all = current.length + lagging.length + silent.length
  const isGood = lagging.length + silent.length + problems.length === 0
  return (
    <section className={`findings ${isGood ? 'good' : 'warning'}`} aria-label="Revisions in processes">
      <p>
        <Mark kind={isGood ? 'good' : 'warning'} />
        <span>
          {current.length} of {all} processes have the latest revision of every organization.
        </span>
      </p>
      {lagging.length > 0 && <p>Not up to date: {lagging.join(', ')}. Refresh in a moment.</p>}
      {silent.length > 0 && <p>Unknown, because their release does not report it: {silent.join(', ')}</p>}
      {problems.map((problem) => (
        <p key={problem}>
          {problem} Runbook: <RunbookLink name="upgrade" />
        </p>
      ))}
    </section>
  )
}
