import { z } from 'zod'
import { Uuid } from '../primitives.ts'
import { LocalizedContent } from '../workspace/content-shape.ts'

/**
 * The form that a visit gets. A form without content has neither `revision`, `language` nor `content`. Not part of `publicApi`: the
 * document would name a schema whose defaults differ in requests and answers twice.
 */
export const NextFeedback = z.strictObject({
  offerId: Uuid.describe('Names this delivery of the form: its row in the queue of the user.'),
  formId: z.string().describe('Equal to nextFeedbackId.'),
  revision: z.number().int().optional().describe('The revision of the workspace that changed the content last.'),
  language: z.string().optional().describe('The language of the texts, one of those of the form.'),
  content: LocalizedContent.optional(),
})
/** The form that a visit gets, with a reference to its content. */
export type DeliveredForm = Omit<z.infer<typeof NextFeedback>, 'content'>
