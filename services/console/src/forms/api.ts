import { Instant, OpenRow, SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'

const hours = z.enum(['1', '24']).default('24').transform(Number)
const place = { organization: SlugId, project: SlugId }

export const FormsQuery = z.strictObject({
  ...place,
  hours,
  /** In the id or the name. */
  find: z.string().max(100).default(''),
  page: z.coerce.number().int().min(1).default(1),
})
export type FormsQuery = z.infer<typeof FormsQuery>

/** Over which time the evaluators' processes have counted. */
export const CountedPeriod = z.strictObject({
  /** From here on somebody has counted. */
  since: Instant,
  /** From here on every process that answers has: one that began later does not know what was before. */
  completeSince: Instant,
  /** Whether somebody has counted over the whole time that is asked for. */
  isWhole: z.boolean(),
  processes: z.number().int(),
  answering: z.number().int(),
})
export type CountedPeriod = z.infer<typeof CountedPeriod>

export const FormFigures = z.strictObject({
  /** A trigger of the form matched: it was queued, or a gate stopped it. */
  matched: z.number().int(),
  queued: z.number().int(),
  offered: z.number().int(),
  delivered: z.number().int(),
  expired: z.number().int(),
  cancelled: z.number().int(),
  /** By the gate that stopped it, the most frequent first. */
  stopped: z.array(z.strictObject({ reason: z.string(), words: z.string(), count: z.number().int() })),
})
export type FormFigures = z.infer<typeof FormFigures>

/** Waiting for a visit, or offered to one, now. */
const open = z.strictObject({
  count: z.number().int(),
  /** There are more than `count`: counting them would cost too much. */
  isMore: z.boolean(),
  oldestAt: Instant.nullable(),
})

export const FormSummary = z.strictObject({
  formId: SlugId,
  name: z.string().nullable(),
  /** `gone`: the workspace does not have it, or no longer. */
  state: z.enum(['live', 'disabled', 'not-yet', 'over', 'gone']),
  figures: FormFigures,
  open,
})
export type FormSummary = z.infer<typeof FormSummary>

export const FormsAnswer = z.strictObject({
  period: CountedPeriod,
  /** A page of them, in the order of the workspace file. */
  forms: z.array(FormSummary),
  /** How many there are with `find`, and without. */
  found: z.number().int(),
  pageSize: z.number().int(),
  total: z.number().int(),
})
export type FormsAnswer = z.infer<typeof FormsAnswer>

/** The last row of the page before: when it was queued, and its id. */
const OpenRowCursor = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.tuple([Instant, Uuid]))
  .transform(([queuedAt, queuedId]) => ({ queuedAt, queuedId }))

export const FormQuery = z.strictObject({ ...place, formId: SlugId, hours, after: OpenRowCursor.optional() })
export type FormQuery = z.infer<typeof FormQuery>

export const FormAnswer = z.strictObject({
  ...FormSummary.shape,
  period: CountedPeriod,
  /** From the workspace file, in words. */
  triggers: z.array(z.string()),
  audience: z.string().nullable(),
  startsAt: Instant.nullable(),
  endsAt: Instant.nullable(),
  /** When it is queued and shown. */
  settings: z.array(z.strictObject({ name: z.string(), words: z.string() })),
  /** A page of what is open, the oldest first. */
  rows: z.array(z.strictObject(OpenRow.shape)),
  /** For `after`. */
  next: z.string().nullable(),
})
export type FormAnswer = z.infer<typeof FormAnswer>
