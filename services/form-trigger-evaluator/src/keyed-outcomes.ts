import { EvaluatorReply } from '@nextvisit/contracts'
import { type Db, sql, type Statement } from '@nextvisit/database'
import type { Recorded } from '@nextvisit/projection'
import type { AddressedReply, KeyedOutcome } from './forms-draft.ts'

/** A duplicate comes within 24 h; twice that, because the clocks of gateways differ. The core keeps its ledger as long. */
const KEPT_MS = 2 * 24 * 3_600_000

/** Keeps outcomes, and deletes those of the partition that no duplicate can ask for any more. */
export function keepOutcomes(outcomes: readonly KeyedOutcome[]): readonly Statement[] {
  const [first] = outcomes
  if (!first) return []
  const sorted = outcomes.toSorted((one, other) => (one.reply.recordId < other.reply.recordId ? -1 : 1))
  const oldestMs = Math.min(...outcomes.map(({ received }) => Date.parse(received)))
  const deletedBefore = new Date(oldestMs - KEPT_MS).toISOString()
  return [
    sql`
      INSERT INTO idempotent_outcomes (record_id, partition, received, reply)
      SELECT record_id, ${first.partition}::int, received, reply
      FROM unnest(
        ${sorted.map(({ reply }) => reply.recordId)}::uuid[],
        ${sorted.map(({ received }) => received)}::timestamptz[],
        ${sorted.map(({ reply }) => JSON.stringify(reply))}::jsonb[]
      ) AS given (record_id, received, reply)
      ON CONFLICT (record_id) DO UPDATE SET received = excluded.received, reply = excluded.reply`,
    sql`DELETE FROM idempotent_outcomes
      WHERE partition = ${first.partition}::int AND received < ${deletedBefore}::timestamptz`,
  ]
}

/** The reply that the first record got, for each gateway that waits for one of its duplicates. */
export async function readRepliesTo(
  db: Db,
  duplicates: readonly Pick<Recorded<{ readonly id: string }>, 'fact' | 'replyTo'>[],
): Promise<readonly AddressedReply[]> {
  const waiting = duplicates.filter(({ replyTo }) => replyTo !== undefined)
  if (waiting.length === 0) return []
  const rows = await db.$queryRaw<{ reply: unknown }[]>(sql`
    SELECT reply FROM idempotent_outcomes WHERE record_id = ANY(${waiting.map(({ fact }) => fact.id)}::uuid[])`)
  const replies = new Map(rows.map((row) => EvaluatorReply.parse(row.reply)).map((reply) => [reply.recordId, reply]))
  return waiting.flatMap(({ fact, replyTo: channel }) => {
    const reply = replies.get(fact.id)
    return reply && channel ? { channel, reply } : []
  })
}
