const SHARE = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

/** Formats a share such as `25 %`; a dash of nothing. */
export function percent(count: number, of: number): string {
  return of === 0 ? '–' : `${SHARE.format((count / of) * 100)} %`
}

/** Formats a ratio from 0 to 1 such as `25 %`; null as a dash. */
export function ratio(value: number | null): string {
  return value === null ? '–' : percent(value, 1)
}

const SIGNED = new Intl.NumberFormat('en', { maximumFractionDigits: 0, signDisplay: 'exceptZero' })
const MEAN = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })

/** Formats a Net Promoter Score such as `+42`, and the mean of a rating such as `4.3`. */
export function scoreText(type: 'nps' | 'rating', value: number): string {
  return (type === 'nps' ? SIGNED : MEAN).format(value).replace('-', '−')
}
