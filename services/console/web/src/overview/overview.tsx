import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Answer } from '../../../src/api-routes.ts'
import { apiQuery } from '../app/api.ts'
import { TimeChart } from '../charts/time-chart.tsx'
import { figure, milliseconds, seconds } from '../components/figures.ts'
import { Age } from '../components/age.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { Counts } from './counts.tsx'
import { Findings } from './findings.tsx'
import { Services } from './services.tsx'

const RELOAD_AFTER_MS = 5_000
/** One for each consumer. */
const LAG_COLORS = ['line-1', 'line-2', 'line-3', 'line-4', 'line-5', 'line-6', 'line-7', 'line-8'] as const

/** Problems, current figures, and the last hour. */
export function Overview() {
  const query = useQuery({
    ...apiQuery('readOverview', {}),
    refetchInterval: RELOAD_AFTER_MS,
  })
  const { data, dataUpdatedAt: receivedAtMs } = query
  return (
    <>
      {data && (
        <header className="page-head">
          <h1>Overview</h1>
          <p className="quiet">
            {data.sampledAt ? (
              <>
                As of <Time at={data.sampledAt} withDate={false} />,{' '}
                <Age of={data.sampledAt} answeredAt={data.at} receivedAtMs={receivedAtMs} /> ago. Rates cover the minute
                before.
              </>
            ) : (
              'Reading the first figures …'
            )}
          </p>
        </header>
      )}
      <WithAnswer query={query} name="the figures">
        {(overview) => (
          <>
            <Findings overview={overview} />
            <Tiles now={overview.now} />
            <Charts overview={overview} />
            <Services overview={overview} receivedAtMs={receivedAtMs} />
            <div className="columns">
              {COUNTS.map(({ counts, ...texts }) => (
                <Counts key={counts} {...texts} counts={overview[counts]} since={overview.countedSince} />
              ))}
            </div>
          </>
        )}
      </WithAnswer>
    </>
  )
}

const COUNTS = [
  { title: 'Requests by status', head: 'Status', counts: 'answers', empty: 'No request was answered' },
  { title: 'Refusals by reason', head: 'Reason', counts: 'refusals', empty: 'Nothing was refused' },
  {
    title: 'Skipped checks',
    head: 'Check',
    counts: 'unchecked',
    empty: 'Every record was checked and all limits were enforced',
  },
] as const

const REFUSALS = (
  <Link to="/live" search={{ outcome: 'refused' }}>
    Refusals
  </Link>
)
const DEAD_LETTERS = <Link to="/operations">Dead letters</Link>

function Tiles({ now }: Pick<Answer<'readOverview'>, 'now'>) {
  const tiles = [
    ['Events', figure(now.eventsPerSecond), '/ s'],
    ['Identifies', figure(now.identifiesPerSecond), '/ s'],
    ['Requests', figure(now.answersPerSecond), '/ s'],
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

interface Chart {
  readonly title: string
  readonly format: (value: number | null) => string
  readonly lines: readonly {
    readonly label: string
    readonly color: string
    readonly figure: Exclude<keyof Answer<'readOverview'>['history'], 'at' | 'lagSeconds'>
  }[]
}

const CHARTS: readonly Chart[] = [
  {
    title: 'Records per second',
    format: figure,
    lines: [
      { label: 'events', color: 'line-1', figure: 'eventsPerSecond' },
      { label: 'identifies', color: 'line-2', figure: 'identifiesPerSecond' },
    ],
  },
  {
    title: 'Requests per second',
    format: figure,
    lines: [
      { label: '2xx', color: 'line-2', figure: 'okPerSecond' },
      { label: '4xx', color: 'line-3', figure: 'refusedPerSecond' },
      { label: '5xx', color: 'line-bad', figure: 'failedPerSecond' },
    ],
  },
  {
    title: 'Latency',
    format: milliseconds,
    lines: [
      { label: 'p50', color: 'line-1', figure: 'p50Ms' },
      { label: 'p99', color: 'line-4', figure: 'p99Ms' },
    ],
  },
]

function Charts({ overview: { history, now } }: { readonly overview: Answer<'readOverview'> }) {
  const { at, lagSeconds } = history
  return (
    <section aria-label="The last hour" className="charts">
      {CHARTS.map(({ title, format, lines }) => (
        <TimeChart
          key={title}
          title={title}
          at={at}
          format={format}
          lines={lines.map(({ figure: name, ...line }) => ({ ...line, values: history[name], latest: now[name] }))}
        />
      ))}
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
