import type uPlot from 'uplot'
import { gapsOf } from './gaps.ts'

/** Shades the ground of a chart where one of its lines has a gap. */
export function shadeGaps(chart: uPlot, color: string): void {
  const [at, ...lines] = chart.data
  const { ctx, bbox } = chart
  ctx.save()
  ctx.fillStyle = color
  const stretches = new Set(lines.flatMap((values) => gapsOf(Array.from(values)).map((gap) => gap.join('-'))))
  for (const stretch of stretches) {
    const [from = 0, to = 0] = stretch.split('-').map((index) => chart.valToPos(at[Number(index)] ?? 0, 'x', true))
    ctx.fillRect(from, bbox.top, Math.max(1, to - from), bbox.height)
  }
  ctx.restore()
}
