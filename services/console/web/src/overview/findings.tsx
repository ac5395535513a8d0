import { Link } from '@tanstack/react-router'
import type { Finding, FindingPlace, OverviewAnswer } from '../../../src/overview/api.ts'
import { Mark } from '../parts/mark.tsx'
import { RunbookLink } from '../parts/with-links.tsx'

/** Problems, worst first, with links to runbooks and screens. */
export function Findings({ overview: { findings, services, sampledAt } }: { readonly overview: OverviewAnswer }) {
  if (sampledAt === null) return null
  if (findings.length === 0) {
    const processes = services.reduce((sum, { answering }) => sum + answering, 0)
    return (
      <section className="findings good" aria-label="State" aria-live="polite">
        <p>
          <Mark kind="good" />
          <span>
            <strong>Everything works.</strong> {processes} processes of {services.length} services answer, no consumer
            lags, and nothing needs your attention.
          </span>
        </p>
      </section>
    )
  }
  const isCritical = findings.some(({ severity }) => severity === 'critical')
  return (
    <section className={`findings ${isCritical ? 'critical' : 'warning'}`} aria-label="State" aria-live="polite">
      {findings.map((finding) => (
        <div key={finding.text} className="finding">
          <Mark kind={finding.severity} />
          <div>
            <p>{finding.text}</p>
            <Ways finding={finding} />
          </div>
        </div>
      ))}
    </section>
  )
}

function Ways({ finding: { runbook, see } }: { readonly finding: Finding }) {
  if (runbook === null && see.length === 0) return null
  return (
    <ul className="ways">
      {runbook !== null && (
        <li>
          <RunbookLink name={runbook}>What to do: runbook {runbook}</RunbookLink>
        </li>
      )}
      {see.map((place) => (
        <li key={Object.values(place).join('/')}>
          <Way place={place} />
        </li>
      ))}
    </ul>
  )
}

function Way({ place }: { readonly place: FindingPlace }) {
  switch (place.screen) {
    case 'operations':
      return (
        <Link to="/operations" search={{ consumer: place.consumer }}>
          {place.consumer}
        </Link>
      )
    case 'catalog':
      return <Link to="/operations/catalog">Catalog</Link>
    case 'registry':
      return (
        <Link to="/registry" search={{ project: place.project }}>
          Usage of {place.project}
        </Link>
      )
    case 'refusals':
      return (
        <Link to="/live" search={{ project: place.project ?? undefined, outcome: 'refused' }}>
          Refusals
        </Link>
      )
  }
}
