import type uPlot from 'uplot'

/** Returns the stretches without a value in a line: the index before the first missing value, and the one after the last. */
export function gapsOf(values: readonly (number | null | undefined)[]): readonly (readonly [number, number])[] {
  const isMissing = (index: number) => values[index] === null || values[index] === undefined
  const begins = values.flatMap((_, index) =>
    isMissing(index) && (index === 0 || !isMissing(index - 1)) ? [index] : [],
  )
  return begins.map((begin) => {
    const length = values.slice(begin).findIndex((value) => value !== null && value !== undefined)
    const end = length < 0 ? values.length - 1 : begin + length
    return [Math.max(0, begin - 1), end]
  })
}

/** Shades the background of a chart where a line has a gap. */
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
