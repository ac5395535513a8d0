import { type ErasedUser, erasedSource, eraseRows } from '@nextvisit/consumer'
import { type NewRow, raw, sql, type Sql } from '@nextvisit/database'
import { timeRowsOf } from './answer-times.ts'
import { dayOf, type Draft } from './draft.ts'
import type { Offer } from './offer.ts'
import { answerTimeDays, answerTimes, elementDays, elements, funnelDays, funnels, offers } from './tables.ts'

type ElementCount = NewRow<typeof elementDays>

/** Returns statements for the rows that a batch has changed: one for each table, however many rows. */
export function saveDraft({ stored, changed, steps, times, erased }: Draft): readonly Sql[] {
  const rows = Array.from(changed.values(), ({ offer }) => ({ ...offer, counted: JSON.stringify(offer.counted) }))
  const counts = netCounts(
    [...changed].flatMap(([key, { offer, partition }]) => [
      ...countsOf(stored.get(key), partition, -1),
      ...countsOf(offer, partition, 1),
    ]),
  )
  const timeRows = times.flatMap(timeRowsOf)
  const partitions = [
    ...counts.flatMap(({ partition, count }) => (Number(count) < 0 ? partition : [])),
    ...erased.map(({ partition }) => partition),
  ]
  return [
    ...offers.upsert(rows),
    ...funnels.upsert(steps),
    ...funnelDays.upsert(steps),
    ...answerTimes.upsert(timeRows),
    ...answerTimeDays.upsert(timeRows),
    ...elements.upsert(counts),
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

/** The values that an offer of an erased user counts with, by the columns of a counter. */
const COUNTED = {
  organization: 'own.organization',
  project: 'own.project',
  form_id: 'own.form_id',
  environment: 'own.environment',
  day: `to_char(own.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
  language: `coalesce(own.language, '')`,
  element: 'counted.entry->>0',
  type: 'counted.entry->>1',
  value: 'counted.entry->>2',
  partition: 'erased.partition',
} as const
const DAY_KEY = Object.keys(COUNTED) as readonly (keyof typeof COUNTED)[]
const KEY = DAY_KEY.filter((column) => column !== 'day')

/**
 * Moves the counts of erased users, whose answers no replay can read again. It reads the counts of their offers, not the answers,
 * however long these are. Both tables lock their rows by key, as all statements do.
 */
function moveCounts(erased: readonly ErasedUser[]): readonly Sql[] {
  if (erased.length === 0) return []
  return [moveStatement('elements', KEY, erased), moveStatement('element_days', DAY_KEY, erased)]
}

function moveStatement(
  table: 'elements' | 'element_days',
  key: readonly (keyof typeof COUNTED)[],
  erased: readonly ErasedUser[],
): Sql {
  const names = raw(key.join(', '))
  return sql`
    WITH moved AS MATERIALIZED (
      SELECT ${raw(key.map((column) => `${COUNTED[column]} AS ${column}`).join(', '))}, count(*) AS count
      FROM offers AS own
      JOIN ${erasedSource(erased)} USING (organization, project, user_id)
      CROSS JOIN LATERAL jsonb_array_elements(own.counted) AS counted (entry)
      WHERE own.started_at IS NOT NULL
      GROUP BY ${raw(key.map((_, index) => String(index + 1)).join(', '))}
    ),
    kept AS (${addMoved(`erased_${table}`, names, 'count')})
    ${addMoved(table, names, '-count')}`
}

function addMoved(table: string, key: Sql, count: string): Sql {
  return sql`
    INSERT INTO ${raw(table)} AS known (${key}, count)
    SELECT ${key}, ${raw(count)} FROM moved ORDER BY ${key}
    ON CONFLICT (${key}) DO UPDATE SET count = known.count + excluded.count`
}

/** Otherwise the rows would depend on how the log was cut into batches. */
function deleteEmpty(partitions: readonly number[]): readonly Sql[] {
  if (partitions.length === 0) return []
  const isEmpty = sql`partition = ANY(${partitions}::int[]) AND count = 0`
  return [elements.deleteWhere(isEmpty), elementDays.deleteWhere(isEmpty)]
}
