import { useQuery } from '@tanstack/react-query'
import type { OverviewAnswer } from '../../../src/api/overview.ts'
import { getFrom } from '../app/call-api.ts'
import { TimeChart } from '../charts/time-chart.tsx'
import { figure, milliseconds, seconds } from '../parts/figures.ts'
import { Time } from '../parts/time.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { Counts } from './counts.tsx'
import { Findings } from './findings.tsx'
import { Services } from './services.tsx'

const AGAIN_AFTER_MS = 5_000
const LAG_COLORS = ['line-1', 'line-2', 'line-3', 'line-4'] as const

/** What happens now, the last hour, and what is wrong. */
export function Overview() {
  const query = useQuery({
    queryKey: ['overview'],
    queryFn: () => getFrom<OverviewAnswer>('overview'),
    refetchInterval: AGAIN_AFTER_MS,
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
                as of <Time at={data.sampledAt} withDate={false} />
              </>
            ) : (
              'reading the first figures …'
            )}
          </p>
        </header>
      )}
      <WithAnswer query={query} what="the figures">
        {(overview) => (
          <>
            <Findings overview={overview} />
            <Tiles now={overview.now} />
            <Charts history={overview.history} />
            <Services services={overview.services} />
            <div className="columns">
              <Counts
                title="Answers by status"
                head="Status"
                counts={overview.answers}
                empty="No request was answered in the last hour. Try it sends some."
              />
              <Counts
                title="Refusals by reason"
                head="Reason"
                counts={overview.refusals}
                empty="Nothing was refused in the last hour."
              />
              <Counts
                title="Checks left out"
                head="Check"
                counts={overview.unchecked}
                empty="Every record was checked: all limits were enforced."
              />
            </div>
          </>
        )}
      </WithAnswer>
    </>
  )
}

function Tiles({ now }: Pick<OverviewAnswer, 'now'>) {
  const tiles = [
    ['Events', figure(now.eventsPerSecond), '/ s'],
    ['Identifies', figure(now.identifiesPerSecond), '/ s'],
    ['Answers', figure(now.answersPerSecond), '/ s'],
    ['Time, p50', milliseconds(now.p50Ms), ''],
    ['Time, p99', milliseconds(now.p99Ms), ''],
    ['Refusals', figure(now.refusalsPerMinute), '/ min'],
    ['Unchecked', figure(now.uncheckedPerMinute), '/ min'],
    ['Dead letters', figure(now.deadLetters), 'now'],
  ] as const
  return (
    <dl className="tiles" aria-label="The last minute">
      {tiles.map(([label, value, unit]) => (
        <div key={label} className="card tile">
          <dt>{label}</dt>
          <dd>
            <span className="num">{value}</span> <small>{unit}</small>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Charts({ history }: Pick<OverviewAnswer, 'history'>) {
  const { at, lagSeconds } = history
  return (
    <section aria-label="The last hour" className="charts">
      <TimeChart
        title="Records a second"
        at={at}
        format={figure}
        lines={[
          { label: 'events', color: 'line-1', values: history.events },
          { label: 'identifies', color: 'line-2', values: history.identifies },
        ]}
      />
      <TimeChart
        title="Answers a second"
        at={at}
        format={figure}
        lines={[
          { label: '2xx', color: 'line-2', values: history.ok },
          { label: '4xx', color: 'line-3', values: history.refused },
          { label: '5xx', color: 'line-bad', values: history.failed },
        ]}
      />
      <TimeChart
        title="Time to an answer"
        at={at}
        format={milliseconds}
        lines={[
          { label: 'p50', color: 'line-1', values: history.p50Ms },
          { label: 'p99', color: 'line-4', values: history.p99Ms },
        ]}
      />
      <TimeChart
        title="Behind the log"
        at={at}
        format={seconds}
        atLeast={1}
        lines={Object.entries(lagSeconds).map(([service, values], index) => ({
          label: service,
          color: LAG_COLORS[index % LAG_COLORS.length] ?? 'line-1',
          values,
        }))}
      />
    </section>
  )
}
