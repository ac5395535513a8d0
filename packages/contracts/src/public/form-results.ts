import { z } from 'zod'
import { Environment, Instant, SlugId, staleFields, Uuid } from '../primitives.ts'
import { AnswerValue, ElementType } from '../records/answer-value.ts'
import { AnswerStatus } from '../records/user-events.ts'

const count = z.number().int().min(0)

/** A day in UTC, such as `2026-11-27`. Postgres has no year 0. */
export const Day = z.iso.date().refine((day) => !day.startsWith('0000'), 'must be a day after the year 0')

/** Steps of a form, each counted on the UTC day of its own instant, in the environment of its key. */
export const FormFunnel = z.strictObject({
  queued: count.optional().describe('Absent of one language: a queued form has none.'),
  delivered: count.describe('Shown to a user.'),
  started: count.describe('Offers with at least one answered element.'),
  finished: count.describe('Offers that `finished` has ended.'),
  dismissed: count.describe('Offers that `dismissed` has ended.'),
  expired: count.optional().describe('Expired while the form waited. Absent of one language.'),
})
export type FormFunnel = z.infer<typeof FormFunnel>

/** The answers to one element, of every offer that was started on the asked days. */
export const ElementResults = z.strictObject({
  id: z.string().describe('The id of the element.'),
  type: ElementType.describe('An element whose type was changed has results of each type.'),
  count: count.describe('Number of offers with an answer to the element.'),
  average: z.number().optional().describe('The mean of the answers; of nps and rating only.'),
  distribution: z
    .array(
      z.strictObject({
        value: z
          .union([z.number(), z.string(), z.boolean()])
          .describe(
            'nps and rating: the number. choice and choices: the id of an option, or `other` for texts of users. consent: true or ' +
              'false.',
          ),
        count: count.describe(
          'Number of offers with this value. Of choices, their sum may exceed the number of answers.',
        ),
      }),
    )
    .describe('Values that occur: numbers ascending, others by count, the highest first. Empty for texts.'),
  nps: z
    .number()
    .optional()
    .describe('Percentage of promoters minus percentage of detractors, −100 to 100; of nps only, as the next three.'),
  promoters: count.optional().describe('Answers of 9 and 10.'),
  passives: count.optional().describe('Answers of 7 and 8.'),
  detractors: count.optional().describe('Answers of 0 to 6.'),
})
export type ElementResults = z.infer<typeof ElementResults>

/** `GET /v2/admin/forms/{formId}/results`. */
export const FormResults = z.strictObject({
  funnel: FormFunnel,
  responseRate: z.number().nullable().describe('finished ÷ delivered, at most 1. null: nothing was delivered.'),
  medianSecondsToAnswer: z
    .number()
    .nullable()
    .describe('Median of the seconds from delivered to finished. null: none was both.'),
  unmatched: count.describe('Answers to offers that their user never had.'),
  elements: z.array(ElementResults).describe('Elements with answers, by id.'),
  ...staleFields,
})
export type FormResults = z.infer<typeof FormResults>

/** An offer with answers. */
export const FormAnswer = z.strictObject({
  answerId: Uuid.describe('The id of the first answer of the offer with an element; it never changes.'),
  userId: Uuid,
  userName: z.string().nullable().describe('null: not known at the moment.'),
  offerId: Uuid,
  revision: z.number().int().describe('The revision of the content, according to the latest answer.'),
  language: z.string().nullable().describe('According to the latest answer that names one, or to the delivery.'),
  environment: Environment.describe("The environment of the latest answer's key."),
  status: AnswerStatus,
  answers: z.record(z.string(), AnswerValue).describe('The latest answer to each element.'),
  startedAt: Instant.describe('Time of the first answer with an element.'),
  endedAt: Instant.nullable().describe('Time of the answer that ended the form. null: it is partial.'),
  causeId: Uuid.describe('The record that queued the form.'),
})
export type FormAnswer = z.infer<typeof FormAnswer>

/** `GET /v2/admin/forms/{formId}/answers`. */
export const FormAnswersPage = z.strictObject({
  answers: z
    .array(FormAnswer)
    .describe('Newest first by `startedAt`. Answers that begin meanwhile do not move later pages.'),
  next: z.string().nullable().describe('Pass it as `after` for the next page; null: this is the last page.'),
  ...staleFields,
})
export type FormAnswersPage = z.infer<typeof FormAnswersPage>

/** A form of the project with its funnel over all days. */
export const FormSummary = z.strictObject({
  formId: SlugId,
  name: z.string().nullable().describe('null: the workspace file gives it none.'),
  enabled: z.boolean(),
  removed: z.literal(true).optional().describe('The workspace file no longer contains the form. Absent otherwise.'),
  funnel: FormFunnel,
  responseRate: FormResults.shape.responseRate,
  unmatched: FormResults.shape.unmatched,
})
export type FormSummary = z.infer<typeof FormSummary>

/** `GET /v2/admin/forms`. */
export const FormsPage = z.strictObject({
  forms: z.array(FormSummary).describe('By form id: the forms of the workspace file, and removed ones with counts.'),
  next: z.string().nullable().describe('Pass it as `after` for the next page; null: this is the last page.'),
  ...staleFields,
})
export type FormsPage = z.infer<typeof FormsPage>
