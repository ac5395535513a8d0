import { type Db, type Sql, sql } from '@nextvisit/database'
import { BatchTooLargeError } from '../core/errors.ts'

/** Maximum bytes of long rows in one commit. Far below the limits of a statement's time and of one message to Postgres. */
export const MAX_BYTES_A_COMMIT = 16 * 1024 * 1024

/** The long rows that a batch loads. */
interface LongRows {
  /** Number of records in the batch. */
  readonly records: number
  /** Maximum bytes of the events that are loaded. */
  readonly eventBytes: number
  /** Maximum bytes of the users' traits. */
  readonly maxTraitBytes: number
  /** Returns the FROM clause of the users, whose column `trait_bytes` has the bytes of their traits. */
  readonly fromUsers: () => Sql
  /** The kept answers to forms, if any are loaded: their maximum bytes, and the FROM clause of their rows. */
  readonly answers?: { readonly maxBytes: number; readonly from: () => Sql } | undefined
}

/**
 * Throws {@link BatchTooLargeError} if a batch's users and events are too long for one commit: the batch is then folded in
 * parts. One record always fits. Measures traits and answers only if the limits do not decide. For `load`.
 */
export async function requireFits(db: Db, rows: LongRows): Promise<void> {
  const { records, eventBytes, maxTraitBytes, answers } = rows
  if (records === 1 || eventBytes + maxTraitBytes + (answers?.maxBytes ?? 0) <= MAX_BYTES_A_COMMIT) return
  const bytes = eventBytes > MAX_BYTES_A_COMMIT ? eventBytes : eventBytes + (await measure(db, rows))
  if (bytes > MAX_BYTES_A_COMMIT) throw new BatchTooLargeError(bytes, MAX_BYTES_A_COMMIT)
}

async function measure(db: Db, { fromUsers, answers }: LongRows): Promise<number> {
  const traitBytes = await readTraitBytes(db, fromUsers())
  return answers ? traitBytes + (await readAnswerBytes(db, answers.from())) : traitBytes
}

async function readAnswerBytes(db: Db, fromAnswers: Sql): Promise<number> {
  const [found] = await db.$queryRaw<{ bytes: number }[]>(sql`
    SELECT coalesce(sum(octet_length(answers::text) + octet_length(other_offers::text)), 0)::float8 AS bytes
    FROM ${fromAnswers}`)
  return found?.bytes ?? 0
}

async function readTraitBytes(db: Db, fromUsers: Sql): Promise<number> {
  const [found] = await db.$queryRaw<{ bytes: number }[]>(sql`
    SELECT coalesce(sum(trait_bytes), 0)::float8 AS bytes FROM ${fromUsers}`)
  return found?.bytes ?? 0
}
