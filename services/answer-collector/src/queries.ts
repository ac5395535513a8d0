import { isDeepStrictEqual } from 'node:util'
import { readTogether } from '@nextvisit/consumer'
import {
  AnswerStatus,
  type Answers,
  type CollectedAnswer,
  type ElementType,
  Environment,
  type FormAnswersAnswer,
  type FormAnswersQuery,
  type FormDaysAnswer,
  type FormDaysQuery,
  type FormFunnelsAnswer,
  type FormFunnelsQuery,
  type FormResults,
  type FormResultsAnswer,
  type FormResultsQuery,
  MAX_ELEMENTS,
  MAX_RESULT_DAYS,
  type OfferAnswersAnswer,
  type OfferAnswersQuery,
  type ProjectRef,
  ResultDays,
  TOO_MANY_DAYS,
} from '@nextvisit/contracts'
import { type Db, empty, raw, type RowOf, sql, type Sql } from '@nextvisit/database'
import { medianQuery } from './answer-times.ts'
import type { Step } from './draft.ts'
import { elementResultsOf, funnelOf, responseRateOf, scoresOf, type ValueCount } from './results.ts'
import { offers } from './tables.ts'

interface StepCount {
  readonly step: Step
  readonly count: number
}

/** Returns true if a step of this form was ever counted. */
export async function isCounted(
  db: Db,
  { organization, project, formId }: ProjectRef & { readonly formId: string },
): Promise<boolean> {
  const rows = await db.$queryRaw<unknown[]>(sql`
    SELECT 1 FROM funnels WHERE (organization, project, form_id) = (${organization}, ${project}, ${formId}) LIMIT 1`)
  return rows.length > 0
}

/** Reads the funnels of a page of forms over all days, by form id. */
export async function readFormFunnels(
  db: Db,
  { organization, project, environment, formIds, limit, after = '' }: FormFunnelsQuery,
): Promise<Pick<FormFunnelsAnswer, 'forms' | 'next'>> {
  const rows = await db.$queryRaw<(StepCount & { readonly formId: string })[]>(sql`
    WITH page AS (
      SELECT DISTINCT form_id FROM funnels
      WHERE (organization, project) = (${organization}, ${project}) AND form_id > ${after}
        ${formIds ? sql`AND form_id = ANY(${formIds}::text[])` : empty}
      ORDER BY form_id LIMIT ${limit + 1}
    )
    SELECT form_id AS "formId", coalesce(step, 'queued') AS step, coalesce(sum(count), 0)::float8 AS count
    FROM page LEFT JOIN (
      SELECT form_id, step, count FROM funnels
      WHERE (organization, project, environment) = (${organization}, ${project}, ${environment})
    ) AS own USING (form_id)
    GROUP BY form_id, step ORDER BY form_id`)
  const found = [...Map.groupBy(rows, ({ formId }) => formId)]
  const forms = found.slice(0, limit).map(([formId, steps]) => ({ formId, ...summaryOf(steps) }))
  return { forms, next: found.length > limit ? (forms.at(-1)?.formId ?? null) : null }
}

function summaryOf(steps: readonly StepCount[]): Pick<FormResults, 'funnel' | 'responseRate' | 'unmatched'> {
  const counts = new Map(steps.map(({ step, count }) => [step, count]))
  const funnel = funnelOf(counts)
  return { funnel, responseRate: responseRateOf(funnel), unmatched: counts.get('unmatched') ?? 0 }
}

/** Bounds an answer. A content has far fewer values. */
const MAX_VALUES = 20_000

/**
 * Reads the results of a form, of one snapshot. Those of all counted days come from counters without days, so their cost does not grow
 * with the days.
 */
export async function readFormResults(db: Db, query: FormResultsQuery): Promise<FormResultsAnswer> {
  const [before] = isRange(query) ? await db.$queryRaw<CountedDays[]>(countedDaysQuery(query)) : []
  const days = daysToRead(query, before)
  if (days === TOO_MANY_DAYS) return TOO_MANY_DAYS
  const ofForm = conditionOf(query)
  const where = days ? sql`${ofForm} AND ${isIn(days)}` : ofForm
  const { counted, steps, medians, values } = await readTogether<{
    counted: CountedDays & JsonRow
    steps: StepCount & JsonRow
    medians: { readonly median: number | null }
    values: ValueCount & JsonRow
  }>(db, sql`SELECT 1 AS one`, {
    counted: isRange(query) ? countedDaysQuery(query) : sql`SELECT NULL AS first, NULL AS end`,
    steps: sql`
      SELECT step, sum(count) AS count FROM ${days ? sql`funnel_days` : sql`funnels`} WHERE ${where} GROUP BY step`,
    medians: medianQuery(ofForm, days),
    values: sql`
      SELECT element, type, value, sum(count) AS count FROM ${elementsWhere(where, days ? 'element_days' : 'elements')}
      GROUP BY element, type, value ORDER BY element, type, value LIMIT ${MAX_VALUES}`,
  })
  // A day that was counted since, such as a new one at midnight, may be outside of the range.
  if (!isDeepStrictEqual(daysToRead(query, counted[0]), days)) return readFormResults(db, query)
  const { funnel, ...summary } = summaryOf(steps)
  return {
    funnel: query.language === undefined ? funnel : ofLanguage(funnel),
    ...summary,
    medianSecondsToAnswer: medians[0]?.median ?? null,
    elements: [...elementResultsOf(values)],
  }
}

/** The first day of a form on which something was counted, and the day after the last one. */
interface CountedDays {
  readonly first: string | null
  readonly end: string | null
}

function isRange({ from, to }: FormResultsQuery): boolean {
  return from !== undefined || to !== undefined
}

/** Returns a query for the counted days, which looks up the first and the last one. */
function countedDaysQuery({ organization, project, formId }: FormResultsQuery): Sql {
  // Each count of another table has a step on the same day, perhaps in the other environment: a later answer may have another key.
  const ofForm = sql`
    FROM funnel_days
    WHERE (organization, project, form_id, environment) = (${organization}, ${project}, ${formId}, one.environment)`
  return sql`
    SELECT min(first) AS first, to_char(max(last)::date + 1, 'YYYY-MM-DD') AS end
    FROM unnest(${Environment.options}::text[]) AS one (environment), LATERAL (
      SELECT (SELECT day ${ofForm} ORDER BY day LIMIT 1) AS first, (SELECT day ${ofForm} ORDER BY day DESC LIMIT 1) AS last
    ) AS counted`
}

/** Returns the counted days of a range. undefined: all of them. */
function daysToRead(
  { from, to }: FormResultsQuery,
  { first, end }: Partial<CountedDays> = {},
): ResultDays | undefined | typeof TOO_MANY_DAYS {
  if (!first || !end) return undefined
  const days = { from: from && from > first ? from : first, to: to && to < end ? to : end }
  if (days.from === first && days.to === end) return undefined
  return ResultDays.safeParse(days).success ? days : TOO_MANY_DAYS
}

type JsonRow = Readonly<Record<string, unknown>>

/** Counts of present users, and of those who are erased. */
function elementsWhere(where: Sql, table: 'elements' | 'element_days'): Sql {
  const columns = sql`${table === 'element_days' ? sql`day,` : empty} element, type, value, count`
  return sql`(
    SELECT ${columns} FROM ${raw(table)} WHERE ${where}
    UNION ALL SELECT ${columns} FROM ${raw(`erased_${table}`)} WHERE ${where}
  ) AS counted`
}

function conditionOf({
  organization,
  project,
  formId,
  environment,
  language,
}: Omit<FormResultsQuery, 'from' | 'to'>): Sql {
  return sql`(organization, project, form_id, environment) = (${organization}, ${project}, ${formId}, ${environment})
    ${language === undefined ? empty : sql`AND language = ${language}`}`
}

function isIn({ from, to }: ResultDays): Sql {
  return sql`day >= ${from} AND day < ${to}`
}

/** A form has no language while it waits. */
function ofLanguage({ delivered, started, finished, dismissed }: FormResults['funnel']): FormResults['funnel'] {
  return { delivered, started, finished, dismissed }
}

/** Bounds an answer: as many scores as the elements of a content have on all days. */
const MAX_SCORES = MAX_RESULT_DAYS * MAX_ELEMENTS

/** The offers with an answer to an element, on one day, by value. */
interface DayCounts {
  readonly day: string
  readonly element: string
  readonly type: ElementType
  readonly counts: Readonly<Record<string, number>>
}

/** Reads funnel and scores of a form for each day on which something was counted. Each score has all of its values. */
export async function readFormDays(db: Db, query: FormDaysQuery): Promise<FormDaysAnswer['days']> {
  const where = sql`${conditionOf(query)} AND ${isIn(query.days)}`
  const { steps, elements } = await readTogether<{
    steps: StepCount & JsonRow & { readonly day: string }
    elements: DayCounts & JsonRow
  }>(db, sql`SELECT 1 AS one`, {
    steps: sql`SELECT day, step, sum(count) AS count FROM funnel_days WHERE ${where} GROUP BY day, step`,
    elements: sql`
      SELECT day, element, type, json_object_agg(value, count) AS counts
      FROM (
        SELECT day, element, type, value, sum(count) AS count FROM ${elementsWhere(where, 'element_days')}
        WHERE type IN ('nps', 'rating') GROUP BY day, element, type, value
      ) AS own
      GROUP BY day, element, type ORDER BY day DESC, element, type LIMIT ${MAX_SCORES}`,
  })
  const stepsOf = Map.groupBy(steps, ({ day }) => day)
  const elementsOf = Map.groupBy(elements, ({ day }) => day)
  return [...new Set([...stepsOf.keys(), ...elementsOf.keys()])].toSorted().map((day) => {
    const { funnel } = summaryOf(stepsOf.get(day) ?? [])
    return {
      day,
      funnel: query.language === undefined ? funnel : ofLanguage(funnel),
      scores: [...scoresOf((elementsOf.get(day) ?? []).flatMap(valueCountsOf))],
    }
  })
}

function valueCountsOf({ element, type, counts }: DayCounts): readonly ValueCount[] {
  return Object.entries(counts).map(([value, count]) => ({ element, type, value, count }))
}

/** Ends a page. With one more row, an answer stays below the 8 MiB of a call. */
const MAX_PAGE_BYTES = 4 * 2 ** 20

interface Found {
  /** Number of offers from the position on, up to one more than asked. */
  readonly found: number
  /** Of the last erasure of the user. */
  readonly erasedUntil: Date | null
}

/** Reads a page of offers with answers, newest first. */
export async function readFormAnswers(db: Db, query: FormAnswersQuery): Promise<Omit<FormAnswersAnswer, 'stale'>> {
  const { organization, project, formId, environment, limit, after } = query
  const [startedAt, id] = after?.split('_') ?? []
  const isAfter = startedAt && id ? sql`(started_at, id) < (${startedAt}::timestamptz, ${id}::uuid)` : sql`TRUE`
  const rows = await db.$queryRaw<(RowOf<typeof offers> & Found)[]>(sql`
    SELECT ${offers.columns}, found, keys_until AS "erasedUntil"
    FROM (
      SELECT organization, project, user_id, id, count(*) OVER ()::int AS found,
        sum(answer_bytes) OVER (ORDER BY started_at DESC, id DESC) - answer_bytes AS bytes_before
      FROM unnest(${environment ? [environment] : Environment.options}::text[]) AS asked (environment), LATERAL (
        SELECT organization, project, user_id, id, started_at, answer_bytes FROM offers
        WHERE (organization, project, form_id, environment) = (${organization}, ${project}, ${formId}, asked.environment)
          AND started_at IS NOT NULL AND ${isAfter}
        ORDER BY started_at DESC, id DESC LIMIT ${limit + 1}
      ) AS own
    ) AS page
    JOIN offers USING (organization, project, user_id, id)
    LEFT JOIN erased_users USING (organization, project, user_id)
    WHERE bytes_before < ${MAX_PAGE_BYTES} ORDER BY started_at DESC, id DESC LIMIT ${limit}`)
  const answers = rows.map((row) => ({
    ...answerOf(offers.parse(row)),
    ...(row.erasedUntil && { erasedUntil: row.erasedUntil.toISOString() }),
  }))
  const last = answers.at(-1)
  const isLast = !last || answers.length === rows[0]?.found
  return { answers, next: isLast ? null : `${last.startedAt}_${last.offerId}` }
}

/** Reads the answers of an offer; undefined: the user has not finished it. */
export async function readOfferAnswers(
  db: Db,
  { organization, project, userId, offerId }: OfferAnswersQuery,
): Promise<OfferAnswersAnswer | undefined> {
  const [row] = await offers.selectByKeys(db, [{ organization, project, userId, id: offerId }])
  return row?.status === 'finished' ? { answers: JSON.parse(row.answers) as Answers } : undefined
}

function answerOf(row: RowOf<typeof offers>): CollectedAnswer {
  const { id: offerId, userId, answerId, revision, language, environment, status, startedAt, endedAt, causeId } = row
  if (answerId === null || startedAt === null || revision === null)
    throw new TypeError(`The offer ${offerId} has no answer`)
  return {
    answerId,
    userId,
    offerId,
    revision,
    language,
    startedAt,
    endedAt,
    causeId,
    environment: Environment.parse(environment),
    status: AnswerStatus.parse(status),
    answers: JSON.parse(row.answers) as Answers,
  }
}
