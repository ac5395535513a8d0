export interface TrendPoint {
  readonly label: string
  /** null: there is none. */
  readonly value: number | null
  /** Number of answers behind the value. */
  readonly count: number
}

/** A value in a square of 100 by 100, whose origin is at the top left. */
export interface Plotted {
  readonly label: string
  readonly value: number
  readonly count: number
  readonly x: number
  readonly y: number
}

/** Places values on their scale, from left to right. Parts without a value keep their place. */
export function plottedPoints(points: readonly TrendPoint[], min: number, max: number): readonly Plotted[] {
  const last = points.length - 1
  return points.flatMap(({ label, value, count }, index) => {
    if (value === null) return []
    const x = last === 0 ? 50 : (index / last) * 100
    return { label, value, count, x: rounded(x), y: rounded(100 - ((value - min) / (max - min)) * 100) }
  })
}

/** Returns the path of an SVG through the points. Values beside a gap are connected. */
export function linePath(plotted: readonly Plotted[]): string {
  return plotted.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${x} ${y}`).join('')
}

/** Returns a path without length: its round ends are a dot, which stays round when the SVG is stretched. */
export function pointPath({ x, y }: Plotted): string {
  return `M${x} ${y}h0.01`
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
