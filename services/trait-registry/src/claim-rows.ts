import { type Claim, ClaimAnswer, type ClaimVerdict } from '@nextvisit/contracts'
import { type Db, sql, type Statement } from '@nextvisit/database'
import type { DefinitionKey } from './definition-rows.ts'

/** A claim that nobody rode on for so long is dropped. */
export const CLAIM_LIFETIME_MS = 60_000

/** Claims in order, atomically; a verdict for each slug of each claim (the SQL function `claim_names`). */
export async function claimNames(db: Db, claims: readonly Claim[], at: Date): Promise<ClaimVerdict[][]> {
  const questions = claims.map(({ organization, project, kind, recordId, partition, slugs, limit, disabled }) => ({
    organization,
    project,
    kind,
    record_id: recordId,
    partition,
    slugs: slugs.map(({ slug }) => slug),
    limit,
    disabled,
  }))
  const [row] = await db.$queryRaw<{ verdicts: unknown }[]>(
    sql`SELECT claim_names(${JSON.stringify(questions)}::jsonb, ${at.toISOString()}::timestamptz) AS verdicts`,
  )
  return ClaimAnswer.parse(row).verdicts
}

/** Names that are registered now need no claim any more, whoever held it. */
export function deleteClaims(names: readonly DefinitionKey[]): Statement {
  return deleteInOrder(sql`(organization, project, kind, slug) IN (
    SELECT * FROM unnest(
      ${names.map((name) => name.organization)}::text[],
      ${names.map((name) => name.project)}::text[],
      ${names.map((name) => name.kind)}::text[],
      ${names.map((name) => name.slug)}::text[]
    ))`)
}

/** Whether any claim, of whatever partition, was last asked for at `deadline` or before. */
export async function hasClaimsUntil(db: Db, deadline: Date): Promise<boolean> {
  const [found] = await db.$queryRaw<unknown[]>(
    sql`SELECT 1 FROM claims WHERE asked_at <= ${deadline.toISOString()}::timestamptz LIMIT 1`,
  )
  return found !== undefined
}

/** Notes that everything published to the partition before `instant` is folded. */
export function markTick(partition: number, instant: Date): Statement {
  return sql`
    INSERT INTO tick_marks AS known (partition, instant) VALUES (${partition}::int, ${instant.toISOString()}::timestamptz)
    ON CONFLICT (partition) DO UPDATE SET instant = greatest(known.instant, excluded.instant)`
}

/**
 * Drops a partition's claims that nobody rode on. Riders may be in any partition, so a claim goes only when *every*
 * partition has seen past the end of its lifetime; a partition without a mark has seen nothing.
 */
export function dropUnriddenClaims(partition: number, partitionCount: number): Statement {
  return deleteInOrder(sql`
    partition = ${partition}::int AND asked_at <= (
      SELECT CASE WHEN count(*) >= ${partitionCount}::int THEN min(instant) END - ${CLAIM_LIFETIME_MS}::int * interval '1 ms'
      FROM tick_marks
    )`)
}

/** By key, as everyone locks claims (see the migration). */
function deleteInOrder(which: Statement): Statement {
  return sql`
    WITH doomed AS MATERIALIZED (
      SELECT organization, project, kind, slug FROM claims WHERE ${which}
      ORDER BY organization, project, kind, slug
      FOR UPDATE
    )
    DELETE FROM claims USING doomed
    WHERE (claims.organization, claims.project, claims.kind, claims.slug)
        = (doomed.organization, doomed.project, doomed.kind, doomed.slug)`
}
