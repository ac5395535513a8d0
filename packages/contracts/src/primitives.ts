import { z } from 'zod'

/** Id of an organization, project, form or segment, chosen in the workspace file (decisions.md, Words). */
export const SlugId = z.string().regex(/^[a-z0-9-]{1,63}$/, 'must be 1 to 63 of the characters a-z, 0-9 and -')

/** Id of an element of a form's content. */
export const ElementId = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,62}$/, 'must be a letter (a-z), then up to 62 of the characters a-z, 0-9, _ and -')

export const Uuid = z.uuid()

/** An instant in the format of `Date.toISOString()`: UTC with milliseconds. The only format of time in records. */
export const Instant = z.iso.datetime({ precision: 3 })

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A duration in the workspace file: `90s`, `15m`, `6h`, `7d`. A day is 24 h. */
export const Duration = z.string().regex(/^\d{1,6}[smhd]$/, 'must be a duration such as 90s, 15m, 6h or 7d')

/** Converts a duration such as `7d` to ms. The text must match {@link Duration}. */
export function durationMs(text: string): number {
  const unit = text.at(-1) as keyof typeof UNIT_MS
  return Number(text.slice(0, -1)) * UNIT_MS[unit]
}

/** The environment of a key: `P` is production, `T` is test. Only metering treats them differently (decisions.md, Words). */
export const Environment = z.enum(['P', 'T'])
export type Environment = z.infer<typeof Environment>

/** The kind of a key: `admin` (secret, for servers only) or `sdk` (publishable). */
export const KeyKind = z.enum(['admin', 'sdk'])
export type KeyKind = z.infer<typeof KeyKind>

/** A calendar month in UTC, such as `2026-11`. */
export const Month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/)

/** Member of answers that wait for the latest records, but only for a moment. */
export const staleFields = {
  stale: z
    .literal(true)
    .optional()
    .describe(
      'True if the latest records may be missing, because the service behind this answer lags. Absent otherwise.',
    ),
}

/** A project. Every row and every request belongs to exactly one. */
export interface ProjectRef {
  readonly organization: string
  readonly project: string
}

/** A user of one project. */
export interface UserRef extends ProjectRef {
  readonly userId: string
}
