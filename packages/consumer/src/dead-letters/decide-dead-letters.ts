import { MAX_DECIDED_LETTERS } from '@nextvisit/contracts'
import { type Query, sql, type Statement } from '@nextvisit/database'
import { CAUSE_ID, hasCause } from './read-dead-letters.ts'

/** Which dead letters of a projection. */
export type LetterSelection =
  | { readonly by: 'ids'; readonly ids: readonly string[] }
  | { readonly by: 'cause'; readonly cause: string }
  /** No letters with a greater id than `lastId`. */
  | { readonly by: 'causeId'; readonly causeId: string; readonly lastId: string }
  | { readonly by: 'all' }

/** `retry`: they are folded again, late. `discarded`: they never are. */
export interface LetterDecision {
  readonly state: 'retry' | 'discarded'
  /** Who decided. */
  readonly by: string
  /** Continues this decision (see {@link DecidedLetters}). */
  readonly decidedAt?: Date | undefined
}

export interface DecidedLetters {
  readonly count: number
  /** Names the decision for {@link countDecided}, in whole milliseconds. undefined: nothing was decided. */
  readonly decidedAt: Date | undefined
  /** More may be left of the selected: one statement decides for a bounded number. */
  readonly isFull: boolean
}

/** How many letters of a decision are in each state. Those that a later decision has changed do not count. */
export interface DecisionCounts {
  readonly retry: number
  readonly retried: number
  readonly dead: number
  readonly discarded: number
}

const MAX_CAUSES = 10

/** How many of the selected wait for somebody to decide. */
export async function countDead(query: Query, projection: string, selection: LetterSelection): Promise<number> {
  const [row] = await query<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM dead_letters WHERE ${isSelectedDead(projection, selection)}`,
  )
  return row?.count ?? 0
}

/** Those of these ids that are no dead letter of the projection, in whatever state. */
export async function findMissingLetters(
  query: Query,
  projection: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  const rows = await query<{ id: string }>(sql`
    SELECT id::text FROM unnest(${ids}::bigint[]) AS asked (id)
    WHERE NOT EXISTS (SELECT FROM dead_letters WHERE projection = ${projection} AND dead_letters.id = asked.id)
    ORDER BY asked.id`)
  return rows.map(({ id }) => id)
}

/**
 * Marks the selected that are dead, at most {@link MAX_DECIDED_LETTERS}, the first that died first: to be folded again, or never. One that is
 * marked already, was folded or was discarded is left as it is, so that asking twice does nothing twice.
 */
export async function decideDeadLetters(
  query: Query,
  projection: string,
  selection: LetterSelection,
  { state, by, decidedAt: continued }: LetterDecision,
): Promise<DecidedLetters> {
  const [row] = await query<{ count: number; decidedAt: Date | null }>(sql`
    WITH decided AS (
      UPDATE dead_letters
      SET state = ${state}, decided_by = ${by},
          decided_at = coalesce(${continued ?? null}::timestamptz, date_trunc('milliseconds', now()))
      WHERE id = ANY(ARRAY(
        SELECT id FROM dead_letters WHERE ${isSelectedDead(projection, selection)}
        ORDER BY id LIMIT ${MAX_DECIDED_LETTERS} FOR UPDATE
      ))
      RETURNING decided_at
    )
    SELECT count(*)::int AS count, max(decided_at) AS "decidedAt" FROM decided`)
  const { count, decidedAt } = row ?? { count: 0, decidedAt: null }
  return { count, decidedAt: decidedAt ?? undefined, isFull: count === MAX_DECIDED_LETTERS }
}

export async function countDecided(query: Query, projection: string, decidedAt: Date): Promise<DecisionCounts> {
  const [counts] = await query<DecisionCounts>(sql`
    SELECT count(*) FILTER (WHERE state = 'retry')::int AS retry,
           count(*) FILTER (WHERE state = 'retried')::int AS retried,
           count(*) FILTER (WHERE state = 'dead')::int AS dead,
           count(*) FILTER (WHERE state = 'discarded')::int AS discarded
    FROM dead_letters WHERE projection = ${projection} AND decided_at = ${decidedAt}::timestamptz`)
  return counts ?? { retry: 0, retried: 0, dead: 0, discarded: 0 }
}

/** What is wrong now with the letters of a decision that are dead again: the most frequent causes. */
export function readCausesOfDeadAgain(
  query: Query,
  projection: string,
  decidedAt: Date,
): Promise<readonly { readonly cause: string; readonly causeId: string; readonly count: number }[]> {
  return query(sql`
    SELECT reason AS cause, ${CAUSE_ID} AS "causeId", count(*)::int AS count FROM dead_letters
    WHERE projection = ${projection} AND decided_at = ${decidedAt}::timestamptz AND state = 'dead'
    GROUP BY reason ORDER BY count(*) DESC, reason LIMIT ${MAX_CAUSES}`)
}

function isSelectedDead(projection: string, selection: LetterSelection): Statement {
  return sql`projection = ${projection} AND state = 'dead' AND ${isSelected(selection)}`
}

function isSelected(selection: LetterSelection): Statement {
  if (selection.by === 'ids') return sql`id = ANY(${selection.ids}::bigint[])`
  if (selection.by === 'cause') return sql`reason = ${selection.cause}`
  if (selection.by === 'causeId') return sql`${hasCause(selection.causeId)} AND id <= ${selection.lastId}::bigint`
  return sql`TRUE`
}
