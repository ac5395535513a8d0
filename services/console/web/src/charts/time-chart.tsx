import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import { timeText, useZone, type Zone } from '../components/time.tsx'
import { shadeGaps } from './gaps.ts'

interface Line {
  readonly label: string
  /** Class of the style sheet that sets the colour. */
  readonly color: string
  readonly values: readonly (number | null)[]
  /** Value beside the name. */
  readonly latest: number | null
}

interface TimeChartProps {
  readonly title: string
  /** Seconds since the epoch. */
  readonly at: readonly number[]
  readonly lines: readonly Line[]
  readonly format: (value: number | null) => string
  /** Minimum upper end of the axis. */
  readonly atLeast?: number
  /** Meaning of a missing value; gaps are shaded. Absent: gaps have no meaning. */
  readonly gaps?: string
}

const HEIGHT = 150
const HOUR_S = 3_600
/** Minimum period that a newly started console shows. */
const SHORTEST_S = 120
/** Distances between labels: at least a minute, because labels show hours and minutes. */
const STEPS_S = [60, 120, 300, 600, 900, 1_800]

/**
 * Lines over the last hour, or since the console started. Latest values are text, because screen readers cannot read a
 * canvas.
 */
export function TimeChart(props: TimeChartProps) {
  const { title, at, lines, format, gaps } = props
  const holder = useRef<HTMLDivElement>(null)
  const zone = useZone()
  const names = lines.map(({ label }) => label).join('/')

  useEffect(() => {
    const element = holder.current
    if (!element || at.length === 0) return
    const chart = new uPlot(optionsOf(element, props, zone), dataOf(at, lines), element)
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const redraw = () => chart.redraw(false)
    scheme.addEventListener('change', redraw)
    return () => {
      scheme.removeEventListener('change', redraw)
      observer.disconnect()
      chart.destroy()
    }
    // A new sample creates a new chart, every few seconds, in a millisecond.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [at, names, zone])

  return (
    <figure className="card chart">
      <figcaption>
        <h2>{title}</h2>
        <ul className="legend">
          {lines.map(({ label, color, latest }) => (
            <li key={label}>
              <svg className={`swatch ${color}`} viewBox="0 0 10 10" aria-hidden="true">
                <rect width="10" height="10" rx="3" />
              </svg>
              {label} <b className="num">{latest === null && gaps !== undefined ? gaps : format(latest)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      {at.length === 0 ? <p className="note empty">The first figures appear a few seconds after the start.</p> : null}
      <div ref={holder} className="plot" aria-hidden="true" />
    </figure>
  )
}

function dataOf(at: readonly number[], lines: readonly Line[]): uPlot.AlignedData {
  return [[...at], ...lines.map(({ values }) => [...values])]
}

/** Draws samples without neighbours as points: a line needs two samples. */
const loneSamples: uPlot.Series.Points.Filter = (chart, line) => {
  const values = Array.from(chart.data[line] ?? [])
  const isMissing = (index: number) => values[index] === null || values[index] === undefined
  return values.flatMap((_, index) =>
    isMissing(index) || !isMissing(index - 1) || !isMissing(index + 1) ? [] : [index],
  )
}

/** Returns a colour of the style sheet in the current colour scheme. */
function colorOf(element: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.className = name
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function optionsOf(element: HTMLElement, props: TimeChartProps, zone: Zone): uPlot.Options {
  const { at, lines, format, atLeast = 0, gaps } = props
  const axis = {
    stroke: () => colorOf(element, 'axis'),
    grid: { stroke: () => colorOf(element, 'grid'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  }
  const now = Date.now() / 1_000
  const since = Math.max(now - HOUR_S, Math.min(at[0] ?? now, now - SHORTEST_S))
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    // Leaves room for half a label on the right.
    padding: [8, 20, 0, 0],
    cursor: { y: false, points: { size: 6 } },
    scales: {
      x: { range: [since, now] },
      y: { range: (_chart, _min, max) => [0, Math.max(atLeast, max > 0 ? max * 1.1 : 1)] },
    },
    axes: [
      {
        ...axis,
        space: 56,
        incrs: STEPS_S,
        size: 24,
        values: (_chart, splits) => splits.map((split) => timeText(split * 1_000, zone, false).slice(0, 5)),
      },
      { ...axis, size: 54, values: (_chart, splits) => splits.map((split) => format(split)) },
    ],
    ...(gaps !== undefined && { hooks: { drawClear: [(chart) => shadeGaps(chart, colorOf(element, 'gap'))] } }),
    series: [
      {},
      ...lines.map(({ label, color }) => ({
        label,
        stroke: () => colorOf(element, color),
        width: 1.5,
        points: { show: true, filter: loneSamples, size: 7, fill: () => colorOf(element, color) },
        spanGaps: false,
      })),
    ],
  }
}
