export type MarkKind = 'good' | 'warning' | 'critical' | 'none'

const SHAPES: { readonly [Kind in MarkKind]: { readonly path: string; readonly label: string } } = {
  good: { path: 'M4.5 8.5 7 11l4.5-5.5', label: 'good' },
  warning: { path: 'M8 4.5v4.2M8 11.2v.1', label: 'warning' },
  critical: { path: 'm5.5 5.5 5 5m0-5-5 5', label: 'failed' },
  none: { path: 'M5.5 8h5', label: 'not checked' },
}

/** Coloured sign with an accessible name. */
export function Mark({ kind, label = SHAPES[kind].label }: { readonly kind: MarkKind; readonly label?: string }) {
  return (
    <svg className={`mark ${kind}`} viewBox="0 0 16 16" role="img" aria-label={label}>
      <circle cx="8" cy="8" r="8" />
      <path d={SHAPES[kind].path} />
    </svg>
  )
}
