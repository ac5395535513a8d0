import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import type { Answer } from '../../../src/api-routes.ts'
import type { LimitLine } from '../../../src/registry/api.ts'
import { apiQuery } from '../app/api.ts'
import { figure } from '../components/figures.ts'
import { Mark, type MarkKind } from '../components/mark.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import type { ChosenProject } from '../components/with-project.tsx'

const RELOAD_AFTER_MS = 15_000

const OUTLOOKS = {
  good: { kind: 'good', label: 'sufficient' },
  warning: { kind: 'warning', label: 'needs attention' },
  reached: { kind: 'critical', label: 'reached' },
} as const satisfies Record<LimitLine['outlook'], { kind: MarkKind; label: string }>

const NO_LIMIT = { kind: 'none', label: 'no limit' } as const

/** Each limit with its use this month, and a forecast at the current rate. */
export function Limits({ project }: { readonly project: ChosenProject }) {
  const query = useQuery({ ...apiQuery('readUsage', project.path), refetchInterval: RELOAD_AFTER_MS })
  return (
    <WithAnswer query={query} name="the usage">
      {(usage) => (
        <>
          {usage.isStale && (
            <p className="note">
              Metering lags, so these counters may lack the latest records. The Overview shows by how much.
            </p>
          )}
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
  const { title, of, isMonthly, used, added, limit, setBy, outlook, words } = line
  const id = useId()
  return (
    <article className="card limit" aria-labelledby={id}>
      <header>
        <Mark {...(limit === null ? NO_LIMIT : OUTLOOKS[outlook])} />
        <h2 id={id}>{title}</h2>
        <span className="pill">
          {of} {project.path[of]}
        </span>
      </header>
      <p>
        <b className="num">{figure(used)}</b> {limit === null ? 'used' : <>of {figure(limit)}</>}
        {setBy === 'bound' && <span className="quiet">, the system limit</span>}
        {!isMonthly && <span className="quiet">; {added === 0 ? 'none' : figure(added)} new this month</span>}
      </p>
      {limit !== null && <UseBar used={used} limit={limit} outlook={outlook} elapsed={isMonthly ? elapsed : null} />}
      <p>{words}</p>
    </article>
  )
}

interface UseBarProps {
  readonly used: number
  readonly limit: number
  readonly outlook: LimitLine['outlook']
  /** Elapsed share of the month, shown as a line; null: the count does not follow the month. */
  readonly elapsed: number | null
}

/** Used share of a limit. Beyond the line the limit would not last the month. */
function UseBar({ used, limit, outlook, elapsed }: UseBarProps) {
  const percent = limit === 0 ? 100 : Math.min(100, (used / limit) * 100)
  const text = percent > 0 && percent < 1 ? 'less than 1 %' : `${Math.floor(percent)} %`
  return (
    <div className={`use-bar ${outlook}`}>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect className="whole" width="100" height="8" rx="1" />
        <rect className="used" width={percent} height="8" rx="1" />
        {elapsed !== null && <rect className="month" x={Math.min(99.3, elapsed * 100)} width="0.7" height="8" />}
      </svg>
      <span className="num">{text}</span>
    </div>
  )
}

/** Explains the rate. */
function Month({ usage: { month, monthEndsAt, at, elapsed, limits } }: { readonly usage: Answer<'readUsage'> }) {
  const hasMonthly = limits.some(({ isMonthly, limit }) => isMonthly && limit !== null)
  return (
    <p className="quiet hint">
      As of <Time at={at} withDate={false} />, {Math.round(elapsed * 100)} % of {month} has passed
      {hasMonthly && ' (the line in each bar)'}. Months are in UTC; this one ends at <Time at={monthEndsAt} />. The rate
      is the additions this month divided by the elapsed time. Active users grow fastest early in a month, so their
      forecast tends to be early. “Events a month” counts events with a production key, over all projects of the
      organization.
    </p>
  )
}
