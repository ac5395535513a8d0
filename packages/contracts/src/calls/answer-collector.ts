import { z } from 'zod'
import { Environment, Instant, SlugId, staleFields, Uuid } from '../primitives.ts'
import { Day, FormAnswer, FormFunnel, FormResults } from '../public/form-results.ts'
import { Answers } from '../records/answer-value.ts'
import { projectFields, UserQuery } from './call-fields.ts'
import { type CallTable, defineCall } from './define-call.ts'

/** Maximum number of forms in one answer. A form has a row per language, step and partition. */
export const MAX_FUNNELS_ASKED = 100
/** Maximum number of offers in one answer, which also ends at some megabytes. */
export const MAX_ANSWERS_ASKED = 1_000
/** Maximum number of days in a range of results. */
export const MAX_RESULT_DAYS = 400

const DAY_MS = 24 * 3_600_000

const FormFunnelsQuery = z.object({
  ...projectFields,
  environment: Environment,
  /** Only these forms. Absent: every form of the project with a counted step. */
  formIds: z.array(SlugId).max(MAX_FUNNELS_ASKED).optional(),
  limit: z.number().int().min(1).max(MAX_FUNNELS_ASKED),
  /** The last formId of the previous page. */
  after: SlugId.optional(),
})
export type FormFunnelsQuery = z.infer<typeof FormFunnelsQuery>
const FormFunnelsAnswer = z.object({
  /** By form id. Forms without a counted step in any environment are missing. */
  forms: z.array(
    z.object({
      formId: SlugId,
      funnel: FormFunnel,
      responseRate: FormResults.shape.responseRate,
      unmatched: FormResults.shape.unmatched,
    }),
  ),
  next: SlugId.nullable(),
  ...staleFields,
})
export type FormFunnelsAnswer = z.infer<typeof FormFunnelsAnswer>

const resultsFields = {
  ...projectFields,
  formId: SlugId,
  environment: Environment,
  /** As the form writes it. Absent: every language, and answers without one. */
  language: z.string().min(1).max(35).optional(),
}

/** `from`: the first day. `to`: the day after the last. */
export const ResultDays = z
  .object({ from: Day, to: Day })
  .refine(
    ({ from, to }) => Date.parse(to) - Date.parse(from) <= MAX_RESULT_DAYS * DAY_MS,
    `must be at most ${MAX_RESULT_DAYS} days`,
  )
export type ResultDays = z.infer<typeof ResultDays>

/** `from`: the first day. `to`: the day after the last. Absent: every day until or from then. */
const FormResultsQuery = z.object({ ...resultsFields, from: Day.optional(), to: Day.optional() })
export type FormResultsQuery = z.infer<typeof FormResultsQuery>

export const TOO_MANY_DAYS = 'too many days' as const
const FormResultsAnswer = z.union([FormResults, z.literal(TOO_MANY_DAYS)])
export type FormResultsAnswer = z.infer<typeof FormResultsAnswer>

const FormDaysQuery = z.object({ ...resultsFields, days: ResultDays })
export type FormDaysQuery = z.infer<typeof FormDaysQuery>
/** Scores of one element on one day. */
const ScoreOfDay = z.object({
  id: z.string(),
  type: z.enum(['nps', 'rating']),
  count: z.number().int(),
  average: z.number(),
  /** Of nps only. */
  nps: z.number().optional(),
})
const FormDaysAnswer = z.object({
  /** The days on which something was counted, in their order. */
  days: z.array(z.object({ day: Day, funnel: FormFunnel, scores: z.array(ScoreOfDay) })),
  ...staleFields,
})
export type FormDaysAnswer = z.infer<typeof FormDaysAnswer>

/** A position in the list of answers: `startedAt` and offerId of the last answer of a page. Postgres has no year 0. */
export const AnswerPosition = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z_[0-9a-f-]{36}$/, 'must be `next` of a page of answers')
  .refine((position) => {
    const [at, id] = position.split('_')
    return Instant.safeParse(at).success && !position.startsWith('0000') && Uuid.safeParse(id).success
  }, 'must be `next` of a page of answers')

const FormAnswersQuery = z.object({
  ...projectFields,
  formId: SlugId,
  environment: Environment.optional(),
  limit: z.number().int().min(1).max(MAX_ANSWERS_ASKED),
  /** `next` of the previous page. */
  after: AnswerPosition.optional(),
})
export type FormAnswersQuery = z.infer<typeof FormAnswersQuery>
/** Without the names of users, which the user projector has. */
const CollectedAnswer = FormAnswer.omit({ userName: true }).extend({
  answers: Answers,
  /** `keysUntil` of the user's last erasure that the collector has folded: all offers of the user began later. Absent: none. */
  erasedUntil: Instant.optional(),
})
export type CollectedAnswer = z.infer<typeof CollectedAnswer>
const FormAnswersAnswer = z.object({ answers: z.array(CollectedAnswer), next: z.string().nullable(), ...staleFields })
export type FormAnswersAnswer = z.infer<typeof FormAnswersAnswer>

const OfferAnswersQuery = z.object({ ...UserQuery.shape, offerId: Uuid })
export type OfferAnswersQuery = z.infer<typeof OfferAnswersQuery>
const OfferAnswersAnswer = z.object({ answers: Answers })
export type OfferAnswersAnswer = z.infer<typeof OfferAnswersAnswer>

export const answerCollectorCalls = {
  /** Reads the funnels of forms over all days, by form id. */
  readFormFunnels: defineCall({
    path: '/internal/forms/funnels/read',
    question: FormFunnelsQuery,
    answer: FormFunnelsAnswer,
  }),
  /**
   * Reads the results of a form. Not found: nothing of this form was ever counted, in any environment. {@link TOO_MANY_DAYS}: the range
   * is longer than `MAX_RESULT_DAYS`, and lacks some of the counted days.
   */
  readFormResults: defineCall({
    path: '/internal/forms/results/read',
    question: FormResultsQuery,
    answer: FormResultsAnswer,
  }),
  /** Reads funnel and scores of a form by day. */
  readFormDays: defineCall({ path: '/internal/forms/days/read', question: FormDaysQuery, answer: FormDaysAnswer }),
  /** Reads a page of offers with answers, newest first. */
  readFormAnswers: defineCall({
    path: '/internal/forms/answers/read',
    question: FormAnswersQuery,
    answer: FormAnswersAnswer,
  }),
  /** Reads all answers of a finished offer. Not found: the user has not finished it, or is erased. */
  readOfferAnswers: defineCall({
    path: '/internal/offers/answers/read',
    question: OfferAnswersQuery,
    answer: OfferAnswersAnswer,
  }),
} satisfies CallTable
