import { type ErasedUser, erasedSource, eraseRows } from '@nextvisit/consumer'
import { type NewRow, raw, sql, type Sql } from '@nextvisit/database'
import type { Offer } from './offer.ts'
import { dayOf, type Draft } from './draft.ts'
import { answerSeconds, elementDays, funnelDays, funnels, offers } from './tables.ts'

type ElementCount = NewRow<typeof elementDays>

/** Returns statements for the rows that a batch has changed: one for each table, however many rows. */
export function saveDraft({ stored, changed, steps, seconds, erased }: Draft): readonly Sql[] {
  const rows = Array.from(changed.values(), ({ offer }) => ({ ...offer, counted: JSON.stringify(offer.counted) }))
  const counts = netCounts(
    [...changed].flatMap(([key, { offer, partition }]) => [
      ...countsOf(stored.get(key), partition, -1),
      ...countsOf(offer, partition, 1),
    ]),
  )
  const partitions = [
    ...counts.flatMap(({ partition, count }) => (Number(count) < 0 ? partition : [])),
    ...erased.map(({ partition }) => partition),
  ]
  return [
    ...offers.upsert(rows),
    ...funnels.upsert(steps),
    ...funnelDays.upsert(steps),
    ...answerSeconds.upsert(seconds),
    ...elementDays.upsert(counts),
    ...moveCounts(erased),
    ...deleteEmpty([...new Set(partitions)]),
    ...eraseRows('offers', erased),
  ]
}

/** Returns what the answers of an offer add to the counts of elements. An offer counts on the day on which it was started. */
function countsOf(offer: Offer | undefined, partition: number, count: 1 | -1): readonly ElementCount[] {
  if (!offer || offer.startedAt === null) return []
  const { organization, project, formId, environment, startedAt } = offer
  const of = { organization, project, formId, environment, day: dayOf(startedAt), language: offer.language ?? '' }
  return offer.counted.map(([element, type, value]) => ({ ...of, element, type, value, partition, count }))
}

/** Adds counts of one row, and omits rows that do not change. */
function netCounts(counts: readonly ElementCount[]): readonly ElementCount[] {
  const net = new Map<string, ElementCount>()
  for (const { count, ...row } of counts) {
    const key = JSON.stringify(row)
    net.set(key, { ...row, count: Number(net.get(key)?.count ?? 0) + Number(count) })
  }
  return [...net.values()].filter(({ count }) => count !== 0)
}

const KEY = 'organization, project, form_id, environment, day, language, element, type, value, partition'

/**
 * Moves the counts of erased users, whose answers no replay can read again. It reads the counts of their offers, not the answers,
 * however long these are. Both tables lock their rows by key, as all statements do.
 */
function moveCounts(erased: readonly ErasedUser[]): readonly Sql[] {
  if (erased.length === 0) return []
  return [
    sql`
    WITH moved AS MATERIALIZED (
      SELECT own.organization, own.project, own.form_id, own.environment,
        to_char(own.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, coalesce(own.language, '') AS language,
        counted.entry->>0 AS element, counted.entry->>1 AS type, counted.entry->>2 AS value, erased.partition,
        count(*) AS count
      FROM offers AS own
      JOIN ${erasedSource(erased)} USING (organization, project, user_id)
      CROSS JOIN LATERAL jsonb_array_elements(own.counted) AS counted (entry)
      WHERE own.started_at IS NOT NULL
      GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    ),
    kept AS (${addMoved('erased_element_days', 'count')})
    ${addMoved('element_days', '-count')}`,
  ]
}

function addMoved(table: string, count: string): Sql {
  return sql`
    INSERT INTO ${raw(table)} AS known (${raw(KEY)}, count)
    SELECT ${raw(KEY)}, ${raw(count)} FROM moved ORDER BY ${raw(KEY)}
    ON CONFLICT (${raw(KEY)}) DO UPDATE SET count = known.count + excluded.count`
}

/** Otherwise the rows would depend on how the log was cut into batches. */
function deleteEmpty(partitions: readonly number[]): readonly Sql[] {
  if (partitions.length === 0) return []
  return [elementDays.deleteWhere(sql`partition = ANY(${partitions}::int[]) AND count = 0`)]
}
