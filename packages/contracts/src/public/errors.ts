import { z } from 'zod'

/** The body of every error. */
export const ErrorBody = z.strictObject({
  status: z.number().int().describe('The HTTP status.'),
  error: z.string().describe('The reason phrase of the status, such as Bad Request.'),
  message: z.string().describe('The invalid part, and the accepted form.'),
})

/** `GET /livez`. */
export const LiveAnswer = z.strictObject({ status: z.literal('available') })
/** `GET /readyz` while requests succeed; otherwise it answers with an {@link ErrorBody}. */
export const ReadyAnswer = z.strictObject({
  status: z.literal('available'),
  reasons: z.array(z.string()).max(0).describe('Always empty.'),
})
