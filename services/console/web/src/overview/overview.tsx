import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { OverviewAnswer } from '../../../src/overview/api.ts'
import { apiQuery } from '../app/use-api.ts'
import { TimeChart } from '../charts/time-chart.tsx'
import { figure, milliseconds, seconds } from '../parts/figures.ts'
import { Time } from '../parts/time.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { Counts } from './counts.tsx'
import { Findings } from './findings.tsx'
import { Services } from './services.tsx'

const RELOAD_AFTER_MS = 5_000
const LAG_COLORS = ['line-1', 'line-2', 'line-3', 'line-4'] as const

/** Problems, current figures, and the last hour. */
export function Overview() {
  const query = useQuery({
    ...apiQuery('readOverview', {}),
    refetchInterval: RELOAD_AFTER_MS,
  })
  const { data } = query
  return (
    <>
      {data && (
        <header className="page-head">
          <h1>Overview</h1>
          <p className="quiet">
            {data.sampledAt ? (
              <>
                As of <Time at={data.sampledAt} withDate={false} />. Figures cover the last minute.
              </>
            ) : (
              'Reading the first figures …'
            )}
          </p>
        </header>
      )}
      <WithAnswer query={query} what="the figures">
        {(overview) => (
          <>
            <Findings overview={overview} />
            <Tiles now={overview.now} />
            <Charts overview={overview} />
            <Services overview={overview} />
            <div className="columns">
              <Counts
                title="Answers by status"
                head="Status"
                counts={overview.answers}
                since={overview.countedSince}
                empty="No request was answered"
              />
              <Counts
                title="Refusals by reason"
                head="Reason"
                counts={overview.refusals}
                since={overview.countedSince}
                empty="Nothing was refused"
              />
              <Counts
                title="Skipped checks"
                head="Check"
                counts={overview.unchecked}
                since={overview.countedSince}
                empty="Every record was checked and all limits were enforced"
              />
            </div>
          </>
        )}
      </WithAnswer>
    </>
  )
}

const REFUSALS = (
  <Link to="/live" search={{ outcome: 'refused' }}>
    Refusals
  </Link>
)
const DEAD_LETTERS = <Link to="/operations">Dead letters</Link>

function Tiles({ now }: Pick<OverviewAnswer, 'now'>) {
  const tiles = [
    ['Events', figure(now.eventsPerSecond), '/ s'],
    ['Identifies', figure(now.identifiesPerSecond), '/ s'],
    ['Answers', figure(now.answersPerSecond), '/ s'],
    ['Latency p50', milliseconds(now.p50Ms), ''],
    ['Latency p99', milliseconds(now.p99Ms), ''],
    ['Refusals', figure(now.refusalsPerMinute), '/ min', REFUSALS],
    ['Unchecked', figure(now.uncheckedPerMinute), '/ min'],
    ['Dead letters', figure(now.deadLetters), 'now', DEAD_LETTERS],
  ] as const satisfies readonly (readonly [string, string, string, ReactNode?])[]
  return (
    <dl className="tiles" aria-label="The last minute">
      {tiles.map(([label, value, unit, link]) => (
        <div key={label} className="card tile">
          <dt>{link ?? label}</dt>
          <dd>
            <span className="num">{value}</span> <small>{unit}</small>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Charts({ overview: { history, now } }: { readonly overview: OverviewAnswer }) {
  const { at, lagSeconds } = history
  return (
    <section aria-label="The last hour" className="charts">
      <TimeChart
        title="Records per second"
        at={at}
        format={figure}
        lines={[
          { label: 'events', color: 'line-1', values: history.events, latest: now.eventsPerSecond },
          { label: 'identifies', color: 'line-2', values: history.identifies, latest: now.identifiesPerSecond },
        ]}
      />
      <TimeChart
        title="Answers per second"
        at={at}
        format={figure}
        lines={[
          { label: '2xx', color: 'line-2', values: history.ok, latest: now.okPerSecond },
          { label: '4xx', color: 'line-3', values: history.refused, latest: now.refusedPerSecond },
          { label: '5xx', color: 'line-bad', values: history.failed, latest: now.failedPerSecond },
        ]}
      />
      <TimeChart
        title="Latency"
        at={at}
        format={milliseconds}
        lines={[
          { label: 'p50', color: 'line-1', values: history.p50Ms, latest: now.p50Ms },
          { label: 'p99', color: 'line-4', values: history.p99Ms, latest: now.p99Ms },
        ]}
      />
      <TimeChart
        title="Lag"
        at={at}
        format={seconds}
        atLeast={1}
        gaps="no answer"
        lines={Object.entries(lagSeconds).map(([service, values], index) => ({
          label: service,
          color: LAG_COLORS[index % LAG_COLORS.length] ?? 'line-1',
          values,
          latest: values.at(-1) ?? null,
        }))}
      />
    </section>
  )
}
