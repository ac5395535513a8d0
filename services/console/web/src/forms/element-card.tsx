import { Link } from '@tanstack/react-router'
import { useId } from 'react'
import type { ScoreTrend, ShownElement } from '../../../src/forms/api.ts'
import { TrendChart } from '../charts/trend-chart.tsx'
import { counted, figure } from '../components/figures.ts'
import { right } from '../components/table-card.tsx'
import { percent, scoreText } from './percent.ts'
import { Share } from './share.tsx'

const TYPES = {
  nps: 'how likely to recommend, 0 to 10',
  rating: 'rating',
  text: 'text',
  choice: 'one option',
  choices: 'several options',
  consent: 'consent',
} as const satisfies Record<ShownElement['type'], string>

interface ElementCardProps {
  readonly element: ShownElement
  readonly trend: ScoreTrend | undefined
}

/** The results of one question. */
export function ElementCard({ element, trend }: ElementCardProps) {
  const id = useId()
  const { label, type, count } = element
  return (
    <section className="card element" aria-labelledby={id}>
      <header>
        <h2 id={id}>{label ?? element.id}</h2>
        <p className="quiet">
          <code>{element.id}</code>, {TYPES[type]}, {counted(count, 'answer')}
        </p>
      </header>
      {count === 0 ? <p className="quiet">No answer in this period.</p> : <Results element={element} trend={trend} />}
    </section>
  )
}

function Results({ element, trend }: ElementCardProps) {
  const { type } = element
  if (type === 'text')
    return (
      <p>
        <Link to="." search={(now) => ({ ...now, tab: 'answers' as const })}>
          Read the answers
        </Link>
      </p>
    )
  return (
    <>
      {type === 'nps' && <NetPromoterScore element={element} />}
      {type === 'rating' && <Mean element={element} />}
      {trend && <Trend element={element} trend={trend} />}
      <Distribution element={element} />
    </>
  )
}

function NetPromoterScore({ element }: Pick<ElementCardProps, 'element'>) {
  const { nps = 0, count, promoters = 0, passives = 0, detractors = 0 } = element
  const groups = [
    { name: 'Detractors', scores: '0–6', kind: 'detractors', size: detractors },
    { name: 'Passives', scores: '7–8', kind: 'passives', size: passives },
    { name: 'Promoters', scores: '9–10', kind: 'promoters', size: promoters },
  ] as const
  const starts = [0, detractors, detractors + passives]
  return (
    <>
      <p className="score">
        <b className="num">{scoreText('nps', nps)}</b> Net Promoter Score: % promoters − % detractors
      </p>
      <svg className="share groups" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        {groups.map(({ kind, size }, index) => (
          <rect
            key={kind}
            className={kind}
            x={((starts[index] ?? 0) / count) * 100}
            width={(size / count) * 100}
            height="8"
          />
        ))}
      </svg>
      <ul className="legend">
        {groups.map(({ name, scores, kind, size }) => (
          <li key={kind}>
            <svg className={`swatch ${kind}`} viewBox="0 0 10 10" aria-hidden="true">
              <rect width="10" height="10" rx="3" />
            </svg>
            {name} ({scores}) <b className="num">{percent(size, count)}</b>
          </li>
        ))}
      </ul>
    </>
  )
}

function Mean({ element: { average, distribution } }: Pick<ElementCardProps, 'element'>) {
  if (average === undefined) return null
  return (
    <p className="score">
      <b className="num">{scoreText('rating', average)}</b> of {distribution.at(-1)?.label} on average
    </p>
  )
}

const HEADS = ['Answer', right('Answers'), 'Share'] as const

/** How often each value was given. A user may have chosen several options. */
function Distribution({ element: { type, count, distribution } }: Pick<ElementCardProps, 'element'>) {
  return (
    <table className="distribution">
      <thead>
        <tr>
          {HEADS.map((head) =>
            typeof head === 'string' ? (
              <th key={head} scope="col">
                {head}
              </th>
            ) : (
              <th key={head.right} scope="col" className="right">
                {head.right}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>
        {distribution.map(({ value, label, count: times }) => (
          <tr key={String(value)}>
            <th scope="row">{label}</th>
            <td className="right num">{figure(times)}</td>
            <td>
              <span className="bar">
                <Share value={times} of={count} kind={type === 'nps' ? groupOf(Number(value)) : 'on'} />
                <span className="num">{percent(times, count)}</span>
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function groupOf(score: number) {
  return score >= 9 ? 'promoters' : score >= 7 ? 'passives' : 'detractors'
}

const PARTS = { day: 'Day', week: 'Week from', month: 'Month from' } as const

function Trend({ element, trend: { type, part, scores } }: ElementCardProps & { readonly trend: ScoreTrend }) {
  const highest = Number(element.distribution.at(-1)?.value ?? 5)
  const [min, max] = type === 'nps' ? [-100, 100] : [1, highest]
  const value = type === 'nps' ? 'NPS' : 'Average'
  return (
    <TrendChart
      title={`${value} by ${part}`}
      points={scores.map(({ from, ...score }) => ({ ...score, label: from }))}
      min={min}
      max={max}
      format={(one) => scoreText(type, one)}
      columns={[PARTS[part], value]}
    />
  )
}
