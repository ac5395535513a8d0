/** Converts an optional instant in ms to a nullable column. */
export function isoOf(instantMs: number | undefined): string | null {
  return instantMs === undefined ? null : new Date(instantMs).toISOString()
}

/** Converts a nullable column to an optional instant in ms. */
export function msOf(instant: string | null): number | undefined {
  return instant === null ? undefined : Date.parse(instant)
}
