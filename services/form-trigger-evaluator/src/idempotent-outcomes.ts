import { EvaluatorReply } from '@nextvisit/contracts'
import { type Db, sql, type Statement } from '@nextvisit/database'
import type { Recorded } from '@nextvisit/projection'
import type { AddressedReply, IdempotentOutcome } from './forms-draft.ts'
import { idempotentOutcomes } from './tables.ts'

/** A duplicate comes within 24 h; twice that, because the clocks of gateways differ. The core keeps its ledger as long. */
const KEPT_MS = 2 * 24 * 3_600_000

/** Keeps outcomes, and deletes those of the partition that no duplicate can ask for any more. */
export function keepOutcomes(outcomes: readonly IdempotentOutcome[]): readonly Statement[] {
  const [first] = outcomes
  if (!first) return []
  const oldestMs = Math.min(...outcomes.map(({ received }) => Date.parse(received)))
  const deletedBefore = new Date(oldestMs - KEPT_MS).toISOString()
  const rows = outcomes.map((outcome) => ({
    ...outcome,
    recordId: outcome.reply.recordId,
    reply: JSON.stringify(outcome.reply),
  }))
  return [
    ...idempotentOutcomes.upsert(rows),
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
  const recordIds = waiting.map(({ fact }) => ({ recordId: fact.id }))
  const rows = await idempotentOutcomes.selectByKeys(db, recordIds)
  const replies = new Map(rows.map(({ recordId, reply }) => [recordId, EvaluatorReply.parse(JSON.parse(reply))]))
  return waiting.flatMap(({ fact, replyTo: channel }) => {
    const reply = replies.get(fact.id)
    return reply && channel ? { channel, reply } : []
  })
}
