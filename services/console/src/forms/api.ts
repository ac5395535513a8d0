import { Instant, OpenFormRow, SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'
import { type ApiTable, defineRoute } from '../http/define-route.ts'

const hours = z.enum(['1', '24']).default('24').transform(Number)
const place = { organization: SlugId, project: SlugId }

/** Period of the counts that the evaluator's processes keep in memory. */
export const CountedPeriod = z.strictObject({
  /** Start of the oldest count. */
  since: Instant,
  /** From here on every answering process has counted: a process that started later has no earlier counts. */
  completeSince: Instant,
  /** The counts cover the whole requested period. */
  isWhole: z.boolean(),
  processes: z.number().int(),
  answering: z.number().int(),
})
export type CountedPeriod = z.infer<typeof CountedPeriod>

export const FormFigures = z.strictObject({
  /** Matches of a trigger: the form was queued, or a gate stopped it. */
  matched: z.number().int(),
  queued: z.number().int(),
  offered: z.number().int(),
  delivered: z.number().int(),
  expired: z.number().int(),
  cancelled: z.number().int(),
  /** By gate, most frequent first. */
  stopped: z.array(z.strictObject({ reason: z.string(), words: z.string(), count: z.number().int() })),
})
export type FormFigures = z.infer<typeof FormFigures>

/** Forms that wait for a visit or are offered to one, now. */
const open = z.strictObject({
  count: z.number().int(),
  /** There are more than `count`, and counting them would cost too much. */
  isMore: z.boolean(),
  oldestAt: Instant.nullable(),
})

export const FormSummary = z.strictObject({
  formId: SlugId,
  name: z.string().nullable(),
  /** `gone`: not in the workspace. */
  state: z.enum(['live', 'disabled', 'not-yet', 'over', 'gone']),
  figures: FormFigures,
  open,
})
export type FormSummary = z.infer<typeof FormSummary>

export const FormsAnswer = z.strictObject({
  period: CountedPeriod,
  /** One page, in the order of the workspace file. */
  forms: z.array(FormSummary),
  /** Number of forms with and without `find`. */
  found: z.number().int(),
  pageSize: z.number().int(),
  total: z.number().int(),
})
export type FormsAnswer = z.infer<typeof FormsAnswer>

/** The last row of the previous page: time and id. */
const OpenRowCursor = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.tuple([Instant, Uuid]))
  .transform(([queuedAt, queuedId]) => ({ queuedAt, queuedId }))

export const FormAnswer = z.strictObject({
  ...FormSummary.shape,
  period: CountedPeriod,
  /** From the workspace file, in words. */
  triggers: z.array(z.string()),
  audience: z.string().nullable(),
  startsAt: Instant.nullable(),
  endsAt: Instant.nullable(),
  /** Conditions for queueing and showing the form. */
  settings: z.array(z.strictObject({ name: z.string(), words: z.string() })),
  /** One page of open rows, oldest first. */
  rows: z.array(z.strictObject(OpenFormRow.shape)),
  /** `after` of the next page. */
  next: z.string().nullable(),
})
export type FormAnswer = z.infer<typeof FormAnswer>

export const formsApi = {
  listForms: defineRoute({
    role: 'viewer',
    input: z.strictObject({
      ...place,
      hours,
      /** Part of the id or the name. */
      find: z.string().max(100).default(''),
      page: z.coerce.number<number>().int().min(1).default(1),
    }),
    answer: FormsAnswer,
  }),
  readForm: defineRoute({
    role: 'viewer',
    input: z.strictObject({ ...place, formId: SlugId, hours, after: OpenRowCursor.optional() }),
    answer: FormAnswer,
  }),
} satisfies ApiTable
