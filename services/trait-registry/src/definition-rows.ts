import { sql, type Statement } from '@nextvisit/database'

export interface DefinitionKey {
  readonly organization: string
  readonly project: string
  readonly kind: 'trait' | 'event'
  readonly slug: string
}

/** What a batch adds to a row of `definitions`: name and id are those of its earliest record by (received, id). */
export interface DefinitionDelta extends DefinitionKey {
  readonly name: string
  readonly firstSeenAt: string
  readonly firstRecordId: string
  readonly lastSeenAt: string
  readonly count: number
  /** The record that got the verdict `new`, if it is one of them. */
  readonly registeredBy: string | undefined
}

/** Rows are shared by all partitions: counts add, instants narrow, the earliest record names. */
export function addDefinitions(deltas: readonly DefinitionDelta[]): Statement {
  return sql`
    INSERT INTO definitions AS known
      (organization, project, kind, slug, name, first_seen_at, first_record_id, last_seen_at, count, registered_by)
    SELECT * FROM unnest(
      ${deltas.map((delta) => delta.organization)}::text[],
      ${deltas.map((delta) => delta.project)}::text[],
      ${deltas.map((delta) => delta.kind)}::text[],
      ${deltas.map((delta) => delta.slug)}::text[],
      ${deltas.map((delta) => delta.name)}::text[],
      ${deltas.map((delta) => delta.firstSeenAt)}::timestamptz[],
      ${deltas.map((delta) => delta.firstRecordId)}::uuid[],
      ${deltas.map((delta) => delta.lastSeenAt)}::timestamptz[],
      ${deltas.map((delta) => delta.count)}::bigint[],
      ${deltas.map((delta) => delta.registeredBy ?? null)}::uuid[]
    )
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (organization, project, kind, slug) DO UPDATE SET
      (name, first_seen_at, first_record_id) = (
        SELECT name, first_seen_at, first_record_id
        FROM (
          VALUES (known.name, known.first_seen_at, known.first_record_id),
                 (excluded.name, excluded.first_seen_at, excluded.first_record_id)
        ) AS record (name, first_seen_at, first_record_id)
        ORDER BY first_seen_at, first_record_id
        LIMIT 1
      ),
      last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at),
      count = known.count + excluded.count,
      registered_by = least(known.registered_by, excluded.registered_by)`
}
