import {
  Instant,
  LocalizedContent,
  OpenCountsAnswer,
  OpenFormRow,
  projectFields,
  SlugId,
  Uuid,
} from '@nextvisit/contracts'
import { z } from 'zod'
import { cursorOf } from '../http/cursor.ts'
import { defineRoute } from '../http/define-route.ts'
import { MAX_SEARCH_CHARACTERS } from '../shared-with-pages.ts'

/** A language tag of a form is shorter. */
const MAX_LANGUAGE_CHARACTERS = 35
const FormPath = z.strictObject({ ...projectFields, formId: SlugId })

const hours = z.enum(['1', '24']).default('24').transform(Number)

/** Period of the counts that the evaluator's processes keep in memory. */
const CountedPeriod = z.strictObject({
  /** Start of the oldest count. */
  since: Instant,
  /** From here on every answering process has counted: a process that started later has no earlier counts. */
  completeSince: Instant,
  /** The counts cover the whole requested period. */
  isWhole: z.boolean(),
  processes: z.number().int(),
  answering: z.number().int(),
})

const FormSummary = z.strictObject({
  formId: SlugId,
  name: z.string().nullable(),
  /** `gone`: not in the workspace. */
  state: z.enum(['live', 'disabled', 'not-yet', 'over', 'gone']),
  figures: z.strictObject({
    /** Matches of a trigger: the form was queued, or a gate stopped it. */
    matched: z.number().int(),
    queued: z.number().int(),
    offered: z.number().int(),
    delivered: z.number().int(),
    expired: z.number().int(),
    cancelled: z.number().int(),
    /** By gate, most frequent first. */
    stopped: z.array(z.strictObject({ reason: z.string(), words: z.string(), count: z.number().int() })),
  }),
  /** Forms that wait for a visit or are offered to one, now. */
  open: OpenCountsAnswer.shape.forms.element,
})
export type FormSummary = z.infer<typeof FormSummary>

/** `userName`: may be masked; null: not known. */
const WaitingRow = OpenFormRow.extend({ userName: z.string().nullable() })

const OpenRowCursor = cursorOf(Uuid).transform(([queuedAt, queuedId]) => ({ queuedAt, queuedId }))

export const formsApi = {
  listForms: defineRoute({
    role: 'viewer',
    input: z.strictObject({
      ...projectFields,
      hours,
      /** Part of the id or the name. */
      find: z.string().max(MAX_SEARCH_CHARACTERS).default(''),
      page: z.coerce.number<number>().int().min(1).default(1),
    }),
    answer: z.strictObject({
      period: CountedPeriod,
      /** One page, in the order of the workspace file. */
      forms: z.array(FormSummary),
      /** Number of forms with and without `find`. */
      found: z.number().int(),
      pageSize: z.number().int(),
      total: z.number().int(),
    }),
  }),
  /** The form in the workspace file. */
  readForm: defineRoute({
    role: 'viewer',
    input: FormPath,
    answer: FormSummary.pick({ formId: true, name: true, state: true }).extend({
      /** In words. */
      triggers: z.array(z.string()),
      audience: z.string().nullable(),
      startsAt: Instant.nullable(),
      endsAt: Instant.nullable(),
      /** Conditions for queueing and showing the form. */
      settings: z.array(z.strictObject({ name: z.string(), words: z.string() })),
    }),
  }),
  /** The gates that stopped the form, and the users that it waits for. */
  readFormQueue: defineRoute({
    role: 'viewer',
    input: FormPath.extend({ hours, after: OpenRowCursor.optional() }),
    answer: FormSummary.pick({ figures: true, open: true }).extend({
      period: CountedPeriod,
      /** One page of open rows, oldest first. */
      rows: z.array(WaitingRow),
      /** `after` of the next page. */
      next: z.string().nullable(),
    }),
  }),
  /** The questions of a form in one language: the default one if it has no `language`. */
  readFormContent: defineRoute({
    role: 'viewer',
    input: FormPath.extend({ language: z.string().max(MAX_LANGUAGE_CHARACTERS).optional() }),
    answer: z.strictObject({
      /** null: the form has none, or is not in the workspace. */
      content: z
        .strictObject({
          revision: z.number().int(),
          languages: z.array(z.string()),
          language: z.string(),
          localized: LocalizedContent,
        })
        .nullable(),
    }),
  }),
}
