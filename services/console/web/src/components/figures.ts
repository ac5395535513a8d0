const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const FEW = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const SMALL = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })

/** Formats a number as `12,345`, `12.3` or `0.12`, and a missing one as a dash. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  if (value === 0) return '0'
  const size = Math.abs(value)
  return (size >= 100 ? WHOLE : size >= 10 ? FEW : SMALL).format(value)
}

/** Formats a number of things, such as `1 letter` or `2,000 letters`. */
export function counted(count: number, one: string): string {
  return count === 1 ? `1 ${one}` : `${figure(count)} ${one}s`
}

/** Formats milliseconds as `850 ms` or `1.25 s`. */
export function milliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  return value >= 1_000 ? `${figure(value / 1_000)} s` : `${figure(value)} ms`
}

/** Formats seconds as `3.2 s` or `4 min`. */
export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  return value >= 120 ? `${figure(value / 60)} min` : `${figure(value)} s`
}

/** Formats the size of a value as `12 bytes` or `3.4 kB`. */
export function bytes(value: number | null): string {
  if (value === null) return 'no value'
  return value < 1_000 ? `${value} bytes` : `${figure(value / 1_000)} kB`
}
