const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const FEW = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const SMALL = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })

/** `12,345`, `12.3`, `0.12`; a dash where it is not known. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  if (value === 0) return '0'
  const size = Math.abs(value)
  return (size >= 100 ? WHOLE : size >= 10 ? FEW : SMALL).format(value)
}

/** `850 ms`, `1.25 s`. */
export function milliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  return value >= 1_000 ? `${figure(value / 1_000)} s` : `${figure(value)} ms`
}

/** `3.2 s`, `4 min`. */
export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  return value >= 120 ? `${figure(value / 60)} min` : `${figure(value)} s`
}
