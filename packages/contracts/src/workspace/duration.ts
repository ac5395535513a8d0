import { z } from 'zod'

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A duration in the workspace file: `90s`, `15m`, `6h`, `7d`. A day is 24 h. */
export const Duration = z.string().regex(/^\d{1,6}[smhd]$/, 'must be a duration such as 90s, 15m, 6h or 7d')

/** Converts a duration such as `7d` to ms. The text must match {@link Duration}. */
export function durationMs(text: string): number {
  const unit = text.at(-1) as keyof typeof UNIT_MS
  return Number(text.slice(0, -1)) * UNIT_MS[unit]
}
