import { type Claim, ClaimAnswer, type ClaimVerdict } from '@nextvisit/contracts'
import { type Db, sql, type Statement } from '@nextvisit/database'
import { claims, tickMarks } from './tables.ts'

/** A claim that no folded record used for so long is dropped. */
export const CLAIM_LIFETIME_MS = 60_000

/** Claims in order, atomically; a verdict for each slug of each claim (the SQL function `claim_names`). */
export async function claimNames(db: Db, asked: readonly Claim[], at: Date): Promise<ClaimVerdict[][]> {
  const questions = asked.map(({ organization, project, kind, recordId, partition, slugs, limit, disabled }) => ({
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

/** Whether any claim, of whatever partition, was last asked for at `deadline` or before. */
export async function hasClaimsUntil(db: Db, deadline: Date): Promise<boolean> {
  const [found] = await db.$queryRaw<unknown[]>(
    sql`SELECT 1 FROM claims WHERE asked_at <= ${deadline.toISOString()}::timestamptz LIMIT 1`,
  )
  return found !== undefined
}

/**
 * Notes that everything published to the partition before `instant` is folded, and drops the partition's claims that no
 * record used. Records of any partition may use a claim, so it goes only when *every* partition is folded past the end
 * of its lifetime. A partition without a mark is not folded at all.
 */
export function dropUnusedClaims(partition: number, instant: Date, partitionCount: number): Statement[] {
  return [
    ...tickMarks.upsert([{ partition, instant: instant.toISOString() }]),
    claims.deleteWhere(sql`
      partition = ${partition}::int AND asked_at <= (
        SELECT CASE WHEN count(*) >= ${partitionCount}::int THEN min(instant) END
          - ${CLAIM_LIFETIME_MS}::int * interval '1 ms'
        FROM tick_marks
      )`),
  ]
}
