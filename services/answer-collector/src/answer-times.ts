import type { ResultDays } from '@nextvisit/contracts'
import { type NewRow, raw, sql, type Sql } from '@nextvisit/database'
import type { answerTimeDays } from './tables.ts'

/** The seconds that an offer took from delivered to finished. */
export type AnswerTime = Omit<NewRow<typeof answerTimeDays>, 'span' | 'count'>

/** Each is 64 of the next one, so a step of the descent reads 64 rows of each partition, day and language. */
const SPANS = [262_144, 4_096, 64, 1] as const
const [WIDEST] = SPANS
const RATIO = 64
/** Longer than any counted time. */
const ALL_SECONDS = '2147483648::bigint'

/** Returns the rows that a time adds to: one of each span. */
export function timeRowsOf(time: AnswerTime): readonly NewRow<typeof answerTimeDays>[] {
  return SPANS.map((span) => ({ ...time, span, seconds: Math.floor(time.seconds / span) * span, count: 1 }))
}

/**
 * Returns a query for the exact median: the mean of the two times in the middle, which are one if the number is odd. It descends to
 * each of them from the widest spans, and reads only the spans that contain it. `where`: a condition on the form. `days`: each day is
 * looked up alone, because an index cannot skip from day to day.
 */
export function medianQuery(where: Sql, days: ResultDays | undefined): Sql {
  const timesIn = (span: string, from: string, to: string): Sql => {
    const isIn = raw(`span = ${span} AND seconds >= ${from} AND seconds < ${to}`)
    if (!days) return sql`(SELECT seconds, count FROM answer_times WHERE ${where} AND ${isIn}) AS found`
    return sql`(
        SELECT to_char(day, 'YYYY-MM-DD') AS day
        FROM generate_series(${days.from}::timestamp, ${days.to}::timestamp - interval '1 day', interval '1 day') AS given (day)
      ) AS chosen_days, LATERAL (
        SELECT seconds, count FROM answer_time_days WHERE ${where} AND day = chosen_days.day AND ${isIn} OFFSET 0
      ) AS found`
  }
  return sql`
    WITH RECURSIVE descent AS (
      SELECT ${raw(ALL_SECONDS)} AS span, 0::bigint AS seconds, rank
      FROM (SELECT sum(count) AS total FROM ${timesIn(String(WIDEST), '0', ALL_SECONDS)}) AS counted,
        unnest(ARRAY[div(total + 1, 2), div(total + 2, 2)]) AS rank
      WHERE total > 0
      UNION
      SELECT next.span, chosen.seconds, descent.rank - chosen.before
      FROM descent, LATERAL (
        SELECT least(descent.span / ${raw(String(RATIO))}, ${raw(String(WIDEST))}) AS span
      ) AS next, LATERAL (
        SELECT seconds::bigint, up_to - count AS before
        FROM (
          SELECT seconds, sum(count) AS count, sum(sum(count)) OVER (ORDER BY seconds) AS up_to
          FROM ${timesIn('next.span', 'descent.seconds', 'descent.seconds + descent.span')} GROUP BY seconds
        ) AS ordered
        WHERE up_to >= descent.rank ORDER BY seconds LIMIT 1
      ) AS chosen
      WHERE descent.span > 1
    )
    SELECT avg(seconds)::float8 AS median FROM descent WHERE span = 1`
}
