import type { Environment } from '@nextvisit/contracts'
import { sql, type Statement } from '@nextvisit/database'

/** What a batch adds to a row of `usage`. */
export interface UsageDelta {
  readonly organization: string
  readonly project: string
  readonly month: string
  readonly environment: Environment
  readonly events: number
  readonly identifies: number
  readonly visits: number
}

/** A name that a record of `month` carried. */
export interface UsedName {
  readonly organization: string
  readonly project: string
  readonly kind: 'trait' | 'event'
  readonly slug: string
  readonly month: string
}

export function addUsage(deltas: readonly UsageDelta[]): Statement {
  return sql`
    INSERT INTO usage AS known (organization, project, month, environment, events, identifies, visits)
    SELECT * FROM unnest(
      ${deltas.map((delta) => delta.organization)}::text[],
      ${deltas.map((delta) => delta.project)}::text[],
      ${deltas.map((delta) => delta.month)}::text[],
      ${deltas.map((delta) => delta.environment)}::text[],
      ${deltas.map((delta) => delta.events)}::bigint[],
      ${deltas.map((delta) => delta.identifies)}::bigint[],
      ${deltas.map((delta) => delta.visits)}::bigint[]
    )
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (organization, project, month, environment) DO UPDATE SET
      events = known.events + excluded.events,
      identifies = known.identifies + excluded.identifies,
      visits = known.visits + excluded.visits`
}

/** Keeps each name's first month. Names that are known already, nearly all, are not written, nor locked. */
export function addUniqueNames(names: readonly UsedName[]): Statement {
  return sql`
    INSERT INTO unique_names AS known (organization, project, kind, slug, first_month)
    SELECT * FROM unnest(
      ${names.map((name) => name.organization)}::text[],
      ${names.map((name) => name.project)}::text[],
      ${names.map((name) => name.kind)}::text[],
      ${names.map((name) => name.slug)}::text[],
      ${names.map((name) => name.month)}::text[]
    ) AS used (organization, project, kind, slug, month)
    WHERE NOT EXISTS (
      SELECT FROM unique_names AS before
      WHERE (before.organization, before.project, before.kind, before.slug)
          = (used.organization, used.project, used.kind, used.slug) AND before.first_month <= used.month
    )
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (organization, project, kind, slug) DO UPDATE SET
      first_month = least(known.first_month, excluded.first_month)`
}
