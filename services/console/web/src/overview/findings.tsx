import { Link } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import type { Finding, FindingLink } from '../../../src/overview/api.ts'
import { Mark } from '../components/mark.tsx'
import { Time } from '../components/time.tsx'
import { RunbookLink } from '../components/with-links.tsx'

/** Problems, worst first, with links to runbooks and screens. */
export function Findings({
  overview: { findings, services, sampledAt },
}: {
  readonly overview: Answer<'readOverview'>
}) {
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
            <p>
              {finding.text}
              {finding.asOf && (
                <span className="quiet">
                  {' '}
                  (counted at <Time at={finding.asOf} withDate={false} />)
                </span>
              )}
            </p>
            <Links finding={finding} />
          </div>
        </div>
      ))}
    </section>
  )
}

function Links({ finding: { runbook, links } }: { readonly finding: Finding }) {
  if (runbook === null && links.length === 0) return null
  return (
    <ul className="ways">
      {runbook !== null && (
        <li>
          <RunbookLink name={runbook}>What to do: runbook {runbook}</RunbookLink>
        </li>
      )}
      {links.map((link) => (
        <li key={Object.values(link).join('/')}>
          <ScreenLink link={link} />
        </li>
      ))}
    </ul>
  )
}

function ScreenLink({ link }: { readonly link: FindingLink }) {
  switch (link.screen) {
    case 'operations':
      return (
        <Link to="/operations" search={{ consumer: link.consumer }}>
          {link.consumer}
        </Link>
      )
    case 'catalog':
      return <Link to="/operations/catalog">Catalog</Link>
    case 'registry':
      return (
        <Link to="/registry" search={{ project: link.project }}>
          Usage of {link.project}
        </Link>
      )
    case 'erasure': {
      const { organization, project, erasureId } = link
      return (
        <Link to="/erasures/$organization/$project/$erasureId" params={{ organization, project, erasureId }}>
          Status of the erasure
        </Link>
      )
    }
    case 'webhook': {
      const { organization, project, endpointId } = link
      return (
        <Link to="/webhooks/$organization/$project/$endpointId" params={{ organization, project, endpointId }}>
          Endpoint {endpointId}
        </Link>
      )
    }
    case 'refusals':
      return (
        <Link to="/live" search={{ project: link.project ?? undefined, outcome: 'refused' }}>
          Refusals
        </Link>
      )
  }
}
