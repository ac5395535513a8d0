import { SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'

const userName = z.string().min(1).max(255)

export const TryIdentify = z.strictObject({ userName, plan: z.enum(['pro', 'free']) })
export const TryTrack = z.strictObject({ userName, eventName: z.string().min(1).max(100) })
export const TryVisit = z.strictObject({ userName })

/** What was sent to the gateway, and what it answered. */
export const TryAnswer = z.strictObject({
  request: z.strictObject({ path: z.string(), key: z.enum(['admin', 'sdk']), body: z.string() }),
  status: z.number().int(),
  body: z.string(),
  user: z.strictObject({ organization: SlugId, project: SlugId, userId: Uuid }),
})
export type TryAnswer = z.infer<typeof TryAnswer>
