import { Answers, AnswerStatus, SlugId, UserQuery, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'
import { defineRoute } from '../http/define-route.ts'
import { DEMO_PLANS, MAX_EVENT_NAME_CHARACTERS, MAX_USER_NAME_CHARACTERS } from '../shared-with-pages.ts'

const userName = z.string().min(1).max(MAX_USER_NAME_CHARACTERS)

/** The request to the gateway, with a test key, and the gateway's answer. */
const TryAnswer = z.strictObject({
  request: z.strictObject({ path: z.string(), key: z.enum(['admin', 'sdk']), body: z.string() }),
  status: z.number().int(),
  body: z.string(),
  user: UserQuery,
})
export type TryAnswer = z.infer<typeof TryAnswer>

const tries = { role: 'operator', answer: TryAnswer } as const

export const tryItApi = {
  tryIdentify: defineRoute({ ...tries, input: z.strictObject({ userName, plan: z.enum(DEMO_PLANS) }) }),
  tryTrack: defineRoute({
    ...tries,
    input: z.strictObject({ userName, eventName: z.string().min(1).max(MAX_EVENT_NAME_CHARACTERS) }),
  }),
  tryVisit: defineRoute({ ...tries, input: z.strictObject({ userName }) }),
  /** Answers the form that a visit got. */
  tryAnswer: defineRoute({
    ...tries,
    input: z.strictObject({
      userName,
      offerId: Uuid,
      formId: SlugId,
      revision: z.number().int(),
      language: z.string().optional(),
      answers: Answers,
      status: AnswerStatus,
    }),
    maxBody: '100kb',
  }),
}
