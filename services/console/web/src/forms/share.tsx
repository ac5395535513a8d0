interface ShareProps {
  readonly value: number
  readonly of: number
  /** `on`: on the way to the user. `off`: stopped. Others: groups of scores. */
  readonly kind: 'on' | 'off' | 'promoters' | 'passives' | 'detractors'
}

/** Bar beside a number. Drawn as SVG because the Content-Security-Policy allows no inline styles. */
export function Share({ value, of, kind }: ShareProps) {
  const width = of === 0 ? 0 : Math.min(100, (value / of) * 100)
  return (
    <svg className={`share ${kind}`} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect className="all" width="100" height="8" />
      <rect className="part" width={width} height="8" />
    </svg>
  )
}
