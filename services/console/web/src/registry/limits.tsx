import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import type { LimitLine, ProjectUsage } from '../../../src/registry/api.ts'
import { LIMIT_TITLES } from '../../../src/registry/limit-titles.ts'
import { apiQuery } from '../app/use-api.ts'
import { figure } from '../parts/figures.ts'
import { Mark, type MarkKind } from '../parts/mark.tsx'
import { Time } from '../parts/time.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import type { ChosenProject } from '../parts/with-project.tsx'
import { UseBar } from './use-bar.tsx'

const AGAIN_AFTER_MS = 15_000

const OUTLOOKS = {
  good: { kind: 'good', label: 'enough' },
  warning: { kind: 'warning', label: 'needs a look' },
  reached: { kind: 'critical', label: 'reached' },
} as const satisfies Record<LimitLine['outlook'], { kind: MarkKind; label: string }>

const NO_LIMIT = { kind: 'none', label: 'no limit' } as const

/** Each limit with its use this month, and when it is reached at this rate. */
export function Limits({ project }: { readonly project: ChosenProject }) {
  const query = useQuery({
    ...apiQuery('readUsage', project.path),
    refetchInterval: AGAIN_AFTER_MS,
  })
  return (
    <WithAnswer query={query} what="the use of the limits">
      {(usage) => (
        <>
          <section aria-label="Limits" className="limits">
            {usage.limits.map((line) => (
              <Limit key={line.name} line={line} project={project} elapsed={usage.elapsed} />
            ))}
          </section>
          <Month usage={usage} />
        </>
      )}
    </WithAnswer>
  )
}

interface LimitProps {
  readonly line: LimitLine
  readonly project: ChosenProject
  readonly elapsed: number
}

function Limit({ line, project, elapsed }: LimitProps) {
  const { name, of, isMonthly, used, added, limit, setBy, outlook, words } = line
  const id = useId()
  return (
    <article className="card limit" aria-labelledby={id}>
      <header>
        <Mark {...(limit === null ? NO_LIMIT : OUTLOOKS[outlook])} />
        <h2 id={id}>{LIMIT_TITLES[name]}</h2>
        <span className="pill">
          {of} {project.path[of]}
        </span>
      </header>
      <p>
        <b className="num">{figure(used)}</b> {limit === null ? 'used' : <>of {figure(limit)}</>}
        {setBy === 'bound' && <span className="quiet">, the bound of every project</span>}
        {!isMonthly && <span className="quiet">; {added === 0 ? 'none' : figure(added)} new this month</span>}
      </p>
      {limit !== null && <UseBar used={used} limit={limit} outlook={outlook} elapsed={isMonthly ? elapsed : null} />}
      <p>{words}</p>
    </article>
  )
}

/** What the rate is. */
function Month({ usage: { month, monthEndsAt, at, elapsed, limits } }: { readonly usage: ProjectUsage }) {
  const hasMonthly = limits.some(({ isMonthly, limit }) => isMonthly && limit !== null)
  return (
    <p className="quiet hint">
      {Math.round(elapsed * 100)} % of the month {month} has passed as of <Time at={at} withDate={false} />
      {hasMonthly && ': the line in a bar'}. It is the month of UTC, and ends at <Time at={monthEndsAt} />. The rate is
      what was added this month over the time that has passed. Active users grow fastest early in a month, so their date
      comes rather too early. Only events with a production key count toward the events a month, of all projects of the
      organization together.
    </p>
  )
}
