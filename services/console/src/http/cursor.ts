import { Instant } from '@nextvisit/contracts'
import { z, type ZodType } from 'zod'

/** Parses a cursor: instant and id of the last row of the previous page, as `instant,id`. */
export function cursorOf(id: ZodType<string, string>) {
  return z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.tuple([Instant, id]))
}

/** Formats a cursor for {@link cursorOf}. */
export function formatCursor(instant: string, id: string): string {
  return `${instant},${id}`
}
