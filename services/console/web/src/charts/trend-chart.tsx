import { useId } from 'react'
import { linePath, type Plotted, plottedPoints, pointPath, type TrendPoint } from './trend-points.ts'

interface TrendChartProps {
  readonly title: string
  readonly points: readonly TrendPoint[]
  /** Ends of the scale. */
  readonly min: number
  readonly max: number
  readonly format: (value: number) => string
  /** Heads of the table: time, value. */
  readonly columns: readonly [string, string]
}

/** A line over time. The same values are in a table, for everybody who cannot or does not want to read the line. */
export function TrendChart({ title, points, min, max, format, columns }: TrendChartProps) {
  const id = useId()
  const plotted = plottedPoints(points, min, max)
  const middle = (min + max) / 2
  return (
    <figure className="trend" aria-labelledby={id}>
      <figcaption>
        <h3 id={id}>{title}</h3>
      </figcaption>
      <div className="plot">
        <div className="scale" aria-hidden="true">
          {[max, middle, min].map((value) => (
            <span key={value}>{format(value)}</span>
          ))}
        </div>
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={inWords(plotted, format)}>
          <path className="rule" d="M0 0H100M0 50H100M0 100H100" />
          <path className="line" d={linePath(plotted)} />
          {plotted.map((point) => (
            <path key={point.label} className="point" d={pointPath(point)}>
              <title>{`${point.label}: ${format(point.value)} (${point.count})`}</title>
            </path>
          ))}
        </svg>
        <div className="ends" aria-hidden="true">
          <span>{points[0]?.label}</span>
          <span>{points.at(-1)?.label}</span>
        </div>
      </div>
      <details>
        <summary>As a table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">{columns[0]}</th>
              <th scope="col" className="right">
                {columns[1]}
              </th>
              <th scope="col" className="right">
                Answers
              </th>
            </tr>
          </thead>
          <tbody>
            {plotted.toReversed().map(({ label, value, count }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td className="right num">{format(value)}</td>
                <td className="right num">{count}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  )
}

function inWords(plotted: readonly Plotted[], format: (value: number) => string): string {
  const [first, last] = [plotted[0], plotted.at(-1)]
  if (!first || !last) return 'No values'
  if (first === last) return `${format(first.value)} on ${first.label}`
  const values = plotted.map(({ value }) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return `From ${format(first.value)} on ${first.label} to ${format(last.value)} on ${last.label}, between ${format(low)} and ${format(high)}`
}
