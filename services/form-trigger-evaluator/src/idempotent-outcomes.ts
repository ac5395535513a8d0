import { type AddressedReply, pruneOldRecords, type Recorded } from '@nextvisit/consumer'
import { EvaluatorReply } from '@nextvisit/contracts'
import type { Db, NewRow, Sql } from '@nextvisit/database'
import { idempotentOutcomes } from './tables.ts'

/** Keeps outcomes, and deletes outcomes of their partitions that no duplicate can need any more. */
export function keepOutcomes(outcomes: readonly NewRow<typeof idempotentOutcomes>[]): readonly Sql[] {
  const seen = outcomes.map(({ partition, received }) => ({ partition, receivedMs: Date.parse(received) }))
  return [...idempotentOutcomes.upsert(outcomes), ...pruneOldRecords('idempotent_outcomes', seen)]
}

/** Reads the reply to the first record, for each gateway that waits for one of its duplicates. */
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
