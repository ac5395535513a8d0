import { sql, type Statement } from '@nextvisit/database'
import type { EventHistory } from '@nextvisit/domain'
import type { Decision, DraftUser } from './forms-draft.ts'

/** Whole rows: nobody but the partition's owner, who has read and folded them, writes them. */
export function upsertUsers(users: readonly DraftUser[]): Statement {
  return sql`
    INSERT INTO users
      (organization, project, user_id, traits, device, first_seen_at, session_started_at, last_sdk_contact_at)
    SELECT * FROM unnest(
      ${users.map((user) => user.organization)}::text[],
      ${users.map((user) => user.project)}::text[],
      ${users.map((user) => user.userId)}::uuid[],
      ${users.map((user) => JSON.stringify(Object.fromEntries(user.traits)))}::jsonb[],
      ${users.map((user) => JSON.stringify(user.device))}::jsonb[],
      ${users.map((user) => isoOf(user.firstSeenAt))}::timestamptz[],
      ${users.map((user) => isoOf(user.sessionStartedAt))}::timestamptz[],
      ${users.map((user) => isoOf(user.lastSdkContactAt))}::timestamptz[]
    )
    ORDER BY 1, 2, 3
    ON CONFLICT (organization, project, user_id) DO UPDATE SET
      traits = excluded.traits, device = excluded.device, first_seen_at = excluded.first_seen_at,
      session_started_at = excluded.session_started_at, last_sdk_contact_at = excluded.last_sdk_contact_at`
}

export interface Occurrences extends EventHistory {
  readonly user: DraftUser
  readonly slug: string
}

/** `latest` is written as text, because `unnest` would flatten a list of lists. */
export function upsertOccurrences(rows: readonly Occurrences[]): Statement {
  return sql`
    INSERT INTO event_occurrences
      (organization, project, user_id, slug, total, latest_ms, session_started_at, session_count)
    SELECT organization, project, user_id, slug, total, latest_ms::bigint[], session_started_at, session_count
    FROM unnest(
      ${rows.map(({ user }) => user.organization)}::text[],
      ${rows.map(({ user }) => user.project)}::text[],
      ${rows.map(({ user }) => user.userId)}::uuid[],
      ${rows.map((row) => row.slug)}::text[],
      ${rows.map((row) => row.total)}::bigint[],
      ${rows.map((row) => `{${row.latest.join()}}`)}::text[],
      ${rows.map((row) => isoOf(row.session?.startedAt))}::timestamptz[],
      ${rows.map((row) => row.session?.count ?? 0)}::int[]
    ) AS given (organization, project, user_id, slug, total, latest_ms, session_started_at, session_count)
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (organization, project, user_id, slug) DO UPDATE SET
      total = excluded.total, latest_ms = excluded.latest_ms, session_started_at = excluded.session_started_at,
      session_count = excluded.session_count`
}

export function upsertDecisions(decisions: readonly Decision[]): Statement {
  return sql`
    INSERT INTO decisions
      (organization, project, user_id, form_id, outcome, record_id, decided_at, catalog_revision, trigger, gates)
    SELECT * FROM unnest(
      ${decisions.map((decision) => decision.organization)}::text[],
      ${decisions.map((decision) => decision.project)}::text[],
      ${decisions.map((decision) => decision.userId)}::uuid[],
      ${decisions.map((decision) => decision.formId)}::text[],
      ${decisions.map((decision) => decision.outcome)}::text[],
      ${decisions.map((decision) => decision.recordId)}::uuid[],
      ${decisions.map((decision) => decision.decidedAt)}::timestamptz[],
      ${decisions.map((decision) => decision.catalogRevision)}::int[],
      ${decisions.map((decision) => JSON.stringify(decision.trigger))}::jsonb[],
      ${decisions.map((decision) => JSON.stringify(decision.gates))}::jsonb[]
    )
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (organization, project, user_id, form_id) DO UPDATE SET
      outcome = excluded.outcome, record_id = excluded.record_id, decided_at = excluded.decided_at,
      catalog_revision = excluded.catalog_revision, trigger = excluded.trigger, gates = excluded.gates`
}

function isoOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}
