import { z } from 'zod'
import { Instant } from '../primitives.ts'

/** A registered name of a trait or an event. */
export const Definition = z.object({
  slug: z.string(),
  name: z.string(),
  firstSeenAt: Instant,
  lastSeenAt: Instant,
  count: z.number().int(),
})
export type Definition = z.infer<typeof Definition>
