import type { CatalogAnswer } from '../../../src/catalog/api.ts'
import { Mark } from '../parts/mark.tsx'
import { RunbookLink } from '../parts/with-links.tsx'

/** Whether every process holds the latest revisions. */
export function Views({ views }: { readonly views: NonNullable<CatalogAnswer['views']> }) {
  const { current, lagging, silent, problems } = views
  const all = current.length + lagging.length + silent.length
  const isGood = lagging.length + silent.length + problems.length === 0
  return (
    <section className={`findings ${isGood ? 'good' : 'warning'}`} aria-label="What processes hold">
      <p>
        <Mark kind={isGood ? 'good' : 'warning'} />
        <span>
          {current.length} of {all} processes hold the latest revision of every organization.
        </span>
      </p>
      {lagging.length > 0 && <p>They have not read the latest: {lagging.join(', ')}. Read again in a moment.</p>}
      {silent.length > 0 && <p>They are of a release that does not say what it holds: {silent.join(', ')}</p>}
      {problems.map((problem) => (
        <p key={problem}>
          {problem} Runbook: <RunbookLink name="upgrade" />
        </p>
      ))}
    </section>
  )
}
