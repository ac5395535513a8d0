import {
  AnswerPosition,
  AnswerStatus,
  Day,
  ElementResults,
  Environment,
  FormFunnel,
  FormResults,
  GateReason,
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
import { defineRoute, Nothing } from '../http/define-route.ts'
import { MAX_SEARCH_CHARACTERS, RESULT_DAYS } from '../shared-with-pages.ts'

const FormPath = z.strictObject({ ...projectFields, formId: SlugId })
export type FormPath = z.infer<typeof FormPath>

/** A language tag of a form is shorter. */
const MAX_LANGUAGE_CHARACTERS = 35
const hours = z.enum(['1', '24']).default('24').transform(Number)
const environment = Environment.default('P')
const language = z.string().min(1).max(MAX_LANGUAGE_CHARACTERS).optional()

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

/** The gates that stopped a form, most frequent first. */
const StoppedBy = z.array(z.strictObject({ reason: GateReason, words: z.string(), count: z.number().int() }))
export type StoppedBy = z.infer<typeof StoppedBy>

/** A form in the workspace file. `gone`: it is not there. */
const ListedForm = z.strictObject({
  formId: SlugId,
  name: z.string().nullable(),
  state: z.enum(['live', 'disabled', 'not-yet', 'over', 'gone']),
})
export type ListedForm = z.infer<typeof ListedForm>

const FormSummary = ListedForm.extend({
  /** Over all days, in the environment. */
  funnel: FormFunnel,
  responseRate: FormResults.shape.responseRate,
  stopped: StoppedBy,
  /** Forms that wait for a visit or are offered to one, now. */
  open: OpenCountsAnswer.shape.forms.element,
})
export type FormSummary = z.infer<typeof FormSummary>

/** `userName`: may be masked; null: not known. */
const WaitingRow = OpenFormRow.extend({ userName: z.string().nullable() })

const OpenRowCursor = cursorOf(Uuid).transform(([queuedAt, queuedId]) => ({ queuedAt, queuedId }))

/** Results of an element, with the words of the current content. An element that was removed has none. */
const ShownElement = ElementResults.extend({
  label: z.string().nullable(),
  /** Every value that can be chosen, in the order of the form, and others that were. */
  distribution: z.array(ElementResults.shape.distribution.element.extend({ label: z.string() })),
})
export type ShownElement = z.infer<typeof ShownElement>

/** The score of an element in a part of the period. */
const Score = z.strictObject({
  /** The first day. */
  from: Day,
  /** The mean, or the NPS of an element of this type. null: there is no answer. */
  value: z.number().nullable(),
  count: z.number().int(),
})
export type Score = z.infer<typeof Score>

const ScoreTrend = z.strictObject({
  id: z.string(),
  type: z.enum(['nps', 'rating']),
  /** Length of a part. */
  part: z.enum(['day', 'week', 'month']),
  scores: z.array(Score),
})
export type ScoreTrend = z.infer<typeof ScoreTrend>

/** The answer to one element, in words. */
const ShownAnswer = z.strictObject({
  id: z.string(),
  label: z.string().nullable(),
  /** May be masked. */
  words: z.string(),
  /** The words are the beginning of a longer text. */
  isCut: z.literal(true).optional(),
})
export type ShownAnswer = z.infer<typeof ShownAnswer>

const AnsweredOffer = z.strictObject({
  answerId: Uuid,
  userId: Uuid,
  /** May be masked; null: not known. */
  userName: z.string().nullable(),
  environment: Environment,
  revision: z.number().int(),
  language: z.string().nullable(),
  status: AnswerStatus,
  startedAt: Instant,
  endedAt: Instant.nullable(),
  /** The request that queued the form. */
  causeId: Uuid,
  answers: z.array(ShownAnswer),
})
export type AnsweredOffer = z.infer<typeof AnsweredOffer>

export const formsApi = {
  listForms: defineRoute({
    role: 'viewer',
    input: z.strictObject({
      ...projectFields,
      environment,
      /** Part of the id or the name. */
      find: z.string().max(MAX_SEARCH_CHARACTERS).default(''),
      page: z.coerce.number<number>().int().min(1).default(1),
    }),
    answer: z.strictObject({
      /** Of the gates. */
      period: CountedPeriod,
      isStale: z.boolean(),
      /** One page, in the order of the workspace file; removed forms follow. */
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
    answer: ListedForm.extend({
      /** In words. */
      triggers: z.array(z.string()),
      audience: z.string().nullable(),
      startsAt: Instant.nullable(),
      endsAt: Instant.nullable(),
      /** Conditions for queueing and showing the form. */
      settings: z.array(z.strictObject({ name: z.string(), words: z.string() })),
    }),
  }),
  readFormResults: defineRoute({
    role: 'viewer',
    input: FormPath.extend({ environment, language, days: z.enum(RESULT_DAYS).default('30') }),
    answer: z.strictObject({
      /** UTC days. `from`: null for the beginning. `to`: today. `chartsFrom`: the earliest day of `trends`. */
      from: Day.nullable(),
      chartsFrom: Day,
      to: Day,
      /** Languages of the current content. */
      languages: z.array(z.string()),
      isStale: z.boolean(),
      funnel: FormFunnel,
      responseRate: FormResults.shape.responseRate,
      medianSecondsToAnswer: FormResults.shape.medianSecondsToAnswer,
      unmatched: FormResults.shape.unmatched,
      /** In the order of the form; removed elements follow. */
      elements: z.array(ShownElement),
      trends: z.array(ScoreTrend),
    }),
  }),
  readFormAnswers: defineRoute({
    role: 'viewer',
    input: FormPath.extend({
      /** Absent: both. */
      environment: Environment.optional(),
      after: AnswerPosition.optional(),
    }),
    answer: z.strictObject({
      isMasked: z.boolean(),
      isStale: z.boolean(),
      /** One page, newest first. */
      answers: z.array(AnsweredOffer),
      /** Number of answers of erased and suppressed users that the page leaves out. The collector has not deleted them yet. */
      leftOut: z.number().int(),
      /** `after` of the next page. */
      next: z.string().nullable(),
    }),
  }),
  revealFormAnswers: defineRoute({
    role: 'viewer',
    input: FormPath,
    answer: Nothing,
    logged: ({ organization, project, formId }) => ({ organization, project, formId }),
  }),
  /** The gates that stopped the form, and the users that it waits for. */
  readFormQueue: defineRoute({
    role: 'viewer',
    input: FormPath.extend({ hours, after: OpenRowCursor.optional() }),
    answer: FormSummary.pick({ stopped: true, open: true }).extend({
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
    input: FormPath.extend({ language }),
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
