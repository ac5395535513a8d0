import type { Client } from 'pg'

/** Dead letters of one consumer that share what is wrong with them. */
export interface LetterGroup {
  readonly cause: string
  readonly dead: number
  /** The partition's owner folds them next. */
  readonly toRetry: number
  readonly retried: number
  readonly discarded: number
  /** Kafka's time of the oldest and of the newest record. */
  readonly oldest: Date
  readonly newest: Date
  /** Of the oldest. */
  readonly example: string
}

/** One dead letter; its value only where it was asked for, as it may hold what a user said of themselves. */
export interface Letter {
  readonly id: string
  readonly state: string
  readonly topic: string
  readonly partition: number
  readonly offset: string
  readonly recordTime: Date
  readonly deadAt: Date
  readonly serviceVersion: string
  readonly cause: string
  readonly decidedBy: string | null
  readonly decidedAt: Date | null
  readonly key: Buffer | null
  readonly headers: Record<string, string>
  readonly valueBytes: number | null
  readonly value: Buffer | null
}

/** Which dead letters of a consumer. */
export type LetterSelection =
  | { readonly by: 'ids'; readonly ids: readonly string[] }
  | { readonly by: 'cause'; readonly cause: string }
  | { readonly by: 'all' }

/** Groups with something to do, or all of them. The largest first. */
export async function readGroups(client: Client, service: string, isAll: boolean): Promise<readonly LetterGroup[]> {
  const { rows } = await client.query<LetterGroup>(
    `SELECT reason AS cause,
            count(*) FILTER (WHERE state = 'dead')::int AS dead,
            count(*) FILTER (WHERE state = 'retry')::int AS "toRetry",
            count(*) FILTER (WHERE state = 'retried')::int AS retried,
            count(*) FILTER (WHERE state = 'discarded')::int AS discarded,
            min(record_time) AS oldest, max(record_time) AS newest,
            (array_agg(id ORDER BY record_time, id))[1]::text AS example
     FROM dead_letters
     WHERE projection = $1 AND ($2 OR state IN ('dead', 'retry'))
     GROUP BY reason
     ORDER BY count(*) DESC, reason`,
    [service, isAll],
  )
  return rows
}

export async function readLetter(
  client: Client,
  service: string,
  id: string,
  withValue: boolean,
): Promise<Letter | undefined> {
  const { rows } = await client.query<Letter>(
    `SELECT id::text, state, topic, partition, "offset"::text, record_time AS "recordTime", dead_at AS "deadAt",
            service_version AS "serviceVersion", reason AS cause, decided_by AS "decidedBy", decided_at AS "decidedAt",
            key, headers, length(value) AS "valueBytes", CASE WHEN $3 THEN value END AS value
     FROM dead_letters WHERE projection = $1 AND id = $2`,
    [service, id, withValue],
  )
  return rows[0]
}

/** Those of these ids that are no dead letter of the service, in whatever state. */
export async function findMissing(client: Client, service: string, ids: readonly string[]): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id::text FROM unnest($2::bigint[]) AS asked (id)
     WHERE NOT EXISTS (SELECT FROM dead_letters WHERE projection = $1 AND dead_letters.id = asked.id) ORDER BY asked.id`,
    [service, ids],
  )
  return rows.map(({ id }) => id)
}

/** How many of the selected wait for somebody to decide. */
export async function countDead(client: Client, service: string, selection: LetterSelection): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM dead_letters WHERE ${isSelectedDead}`,
    parametersOf(service, selection),
  )
  return rows[0]?.count ?? 0
}

/**
 * Marks the selected that are dead: to be folded again, or never. Returns their ids. One that is marked already, was
 * folded or was discarded is left as it is, so that asking twice does nothing twice.
 */
export async function decide(
  client: Client,
  service: string,
  selection: LetterSelection,
  { state, by }: { readonly state: 'retry' | 'discarded'; readonly by: string },
): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    `UPDATE dead_letters SET state = $4, decided_by = $5, decided_at = now() WHERE ${isSelectedDead} RETURNING id::text`,
    [...parametersOf(service, selection), state, by],
  )
  return rows.map(({ id }) => id)
}

/** How many of these letters are in each state now. */
export async function countStates(client: Client, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ state: string; count: number }>(
    `SELECT state, count(*)::int AS count FROM dead_letters WHERE id = ANY($1::bigint[]) GROUP BY state`,
    [ids],
  )
  return new Map(rows.map(({ state, count }) => [state, count]))
}

const isSelectedDead = `projection = $1 AND state = 'dead' AND id = ANY(coalesce($2::bigint[], ARRAY[id])) AND reason = coalesce($3, reason)`

function parametersOf(service: string, selection: LetterSelection): unknown[] {
  return [service, selection.by === 'ids' ? selection.ids : null, selection.by === 'cause' ? selection.cause : null]
}
