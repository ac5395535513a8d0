export interface ShareProps {
  readonly value: number
  readonly of: number
  /** `on`: towards the user. `off`: it went no further. */
  readonly kind: 'on' | 'off'
}

/** A bar beside a number, which says the same. Drawn, as the policy allows no inline style. */
export function Share({ value, of, kind }: ShareProps) {
  const width = of === 0 ? 0 : Math.min(100, (value / of) * 100)
  return (
    <svg className={`share ${kind}`} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect className="all" width="100" height="8" />
      <rect className="part" width={width} height="8" />
    </svg>
  )
}
