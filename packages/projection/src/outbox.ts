import { sql, type Statement } from '@nextvisit/database'

/** What must be published, once the commit that decided it stands. */
export interface OutboxRow {
  readonly topic: string
  readonly key: string
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

/** Puts rows into the outbox, in this order. Only in a commit: the fence says whose partition they are of. */
export function outboxStatement(rows: readonly OutboxRow[]): Statement {
  return sql`
    INSERT INTO outbox (topic, key, value, headers)
    SELECT topic, key, value, headers FROM unnest(
      ${rows.map(({ topic }) => topic)}::text[],
      ${rows.map(({ key }) => key)}::text[],
      ${rows.map(({ value }) => value)}::text[],
      ${rows.map(({ headers }) => JSON.stringify(headers))}::jsonb[]
    ) WITH ORDINALITY AS given (topic, key, value, headers, place)
    ORDER BY place`
}
