import type { OverviewAnswer } from '../../../src/api/overview.ts'
import { Mark } from '../parts/mark.tsx'

/** In words: what is wrong, the worst first, and which runbook helps. */
export function Findings({ overview: { findings, services, sampledAt } }: { readonly overview: OverviewAnswer }) {
  if (sampledAt === null) return null
  if (findings.length === 0) {
    const processes = services.reduce((sum, { answering }) => sum + answering, 0)
    return (
      <section className="findings good" aria-label="State" aria-live="polite">
        <p>
          <Mark kind="good" />
          <span>
            <strong>Everything works.</strong> {processes} processes of {services.length} services answer, nobody is
            behind, and nothing waits for you.
          </span>
        </p>
      </section>
    )
  }
  const isCritical = findings.some(({ severity }) => severity === 'critical')
  return (
    <section className={`findings ${isCritical ? 'critical' : 'warning'}`} aria-label="State" aria-live="polite">
      {findings.map(({ severity, text, runbook }) => (
        <p key={text}>
          <Mark kind={severity} />
          <span>
            {text}
            {runbook && (
              <>
                {' '}
                Runbook: <code>docs/runbooks/{runbook}.md</code>
              </>
            )}
          </span>
        </p>
      ))}
    </section>
  )
}
