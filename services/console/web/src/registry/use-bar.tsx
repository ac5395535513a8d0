import type { LimitLine } from '../../../src/registry/api.ts'

export interface UseBarProps {
  readonly used: number
  readonly limit: number
  readonly outlook: LimitLine['outlook']
  /** How much of the month has passed, as a line in the bar; null: the count does not follow the month. */
  readonly elapsed: number | null
}

/** How much of a limit is used. Use beyond the line of the month is faster than the limit lasts. */
export function UseBar({ used, limit, outlook, elapsed }: UseBarProps) {
  const percent = limit === 0 ? 100 : Math.min(100, (used / limit) * 100)
  const text = percent > 0 && percent < 1 ? 'less than 1 %' : `${Math.floor(percent)} %`
  return (
    <div className={`use-bar ${outlook}`}>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect className="whole" width="100" height="8" rx="1" />
        <rect className="used" width={percent} height="8" rx="1" />
        {elapsed !== null && <rect className="month" x={Math.min(99.3, elapsed * 100)} width="0.7" height="8" />}
      </svg>
      <span className="num">{text}</span>
    </div>
  )
}
