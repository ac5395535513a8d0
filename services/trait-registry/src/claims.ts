import { type Claim, ClaimVerdict, type ReleasedClaim } from '@nextvisit/contracts'
import { type Db, sql, type Sql } from '@nextvisit/database'
import { z } from 'zod'
import { claims, tickMarks } from './tables.ts'

/** A claim is dropped if no folded record used it for this time. */
export const CLAIM_LIFETIME_MS = 60_000

/**
 * Claims names in order. Returns a verdict for each slug of each claim. Registered names, reached caps and dry runs are
 * answered without a lock, the other claims atomically (the SQL function `claim_names`).
 */
export async function claimNames(db: Db, asked: readonly Claim[], at: Date): Promise<ClaimVerdict[][]> {
  const verdicts = await ask(db, asked, at, sql`ARRAY(SELECT verdict FROM find_names(given.questions, given.at))`)
  const undecided = asked.flatMap((claim, index) => {
    const needsClaim = verdicts[index]?.some((verdict) => verdict === 'room' || verdict === 'claimed')
    return needsClaim && !claim.dryRun ? [{ claim, index }] : []
  })
  if (undecided.length === 0) return verdicts
  const open = undecided.map(({ claim }) => claim)
  const claimed = await ask(db, open, at, sql`claim_names(given.questions, given.at)`)
  undecided.forEach(({ index }, position) => {
    verdicts[index] = claimed[position] ?? []
  })
  return verdicts
}

/** Returns the verdicts of a query over `given.questions` and `given.at`, by claim and slug. */
async function ask(db: Db, asked: readonly Claim[], at: Date, query: Sql): Promise<ClaimVerdict[][]> {
  const questions = asked.map((claim) => ({ ...claim, record_id: claim.recordId }))
  const [row] = await db.$queryRaw<{ verdicts: unknown }[]>(sql`
    SELECT ${query} AS verdicts
    FROM (VALUES (${JSON.stringify(questions)}::jsonb, ${at.toISOString()}::timestamptz)) AS given (questions, at)`)
  const verdicts = z.array(ClaimVerdict).parse(row?.verdicts)
  let begin = 0
  return asked.map(({ slugs }) => {
    const own = verdicts.slice(begin, begin + slugs.length)
    begin += slugs.length
    return own
  })
}

/** Gives back the claims of records that are known to be unpublished. */
export async function releaseClaims(db: Db, released: readonly ReleasedClaim[]): Promise<void> {
  const names = released.map((claim) => ({ ...claim, record_id: claim.recordId }))
  await db.$executeRaw(sql`SELECT release_names(${JSON.stringify(names)}::jsonb)`)
}

/** Returns true if any claim, in any partition, was last asked for at `deadline` or before. */
export async function hasClaimsUntil(db: Db, deadline: Date): Promise<boolean> {
  const [found] = await db.$queryRaw<unknown[]>(
    sql`SELECT 1 FROM claims WHERE asked_at <= ${deadline.toISOString()}::timestamptz LIMIT 1`,
  )
  return found !== undefined
}

/**
 * Notes that every record published to the partition before `instant` is folded, and drops the partition's unused claims.
 * Records of any partition may use a claim. It is therefore dropped only when *every* partition is folded past the end of
 * its lifetime. A partition without a mark is not folded at all.
 */
export function dropUnusedClaims(partition: number, instant: Date, partitionCount: number): Sql[] {
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
