/** For a column that may hold null: an instant of a rule, in ms, as a row has it. */
export function isoOf(instantMs: number | undefined): string | null {
  return instantMs === undefined ? null : new Date(instantMs).toISOString()
}

/** An instant of a row as rules compute with it, in ms. */
export function msOf(instant: string | null): number | undefined {
  return instant === null ? undefined : Date.parse(instant)
}
