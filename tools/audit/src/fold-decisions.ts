import type { FetchedRecord, LogConnection, Watermarks } from '@nextvisit/log'
import type { FormFact } from './facts.ts'
import { readAll } from './read-all.ts'
import { readFormFact } from './read-fact.ts'
import type { Snapshot } from './snapshot.ts'

export interface FoldDecisionsOptions {
  readonly connection: LogConnection
  readonly topic: string
  /** End of the topic before the snapshot. */
  readonly decidedBefore: ReadonlyMap<number, Watermarks>
  readonly evaluator: Snapshot
  /** Receives every fact. `isLater`: it may be newer than the snapshot. */
  readonly foldForm: (fact: FormFact, how: { readonly isLater: boolean }) => void
  /** Returns whether a user belongs to this pass. */
  readonly isMine: (userId: string) => boolean
}

interface Published {
  readonly partition: number
  readonly fact: FormFact
}

/**
 * Folds decisions in their original order: those published before the snapshot, those that the outbox had
 * published and dropped by then, those waiting in it, and those that may be newer.
 */
export async function foldDecisions(options: FoldDecisionsOptions): Promise<void> {
  const { connection, topic, decidedBefore, evaluator, foldForm, isMine } = options
  const factIn = (record: Pick<FetchedRecord, 'value' | 'headers'>): FormFact | undefined => {
    const reading = readFormFact(record)
    if (reading.outcome === 'unreadable') return undefined
    const { fact } = reading
    return fact.type !== 'QueueErased' && isMine(fact.userId) ? fact : undefined
  }
  const later: Published[] = []
  await readAll(connection, topic, decidedBefore, (record) => {
    const fact = factIn(record)
    if (!fact) return
    const { partition, offset } = record
    if (offset < (decidedBefore.get(partition)?.high ?? 0n)) foldForm(fact, { isLater: false })
    else later.push({ partition, fact })
  })
  const waiting: FormFact[] = []
  const outbox = evaluator.rows<{ value: string; headers: Record<string, string> }>(
    'SELECT value, headers FROM outbox WHERE topic = $1 ORDER BY sequence',
    [topic],
  )
  for await (const { value, headers } of outbox) {
    const fact = factIn({ value: Buffer.from(value), headers })
    if (fact) waiting.push(fact)
  }
  const { before, rest } = splitAtOutbox(later, waiting)
  for (const { fact } of before) foldForm(fact, { isLater: true })
  for (const fact of waiting) foldForm(fact, { isLater: false })
  for (const { fact } of rest) foldForm(fact, { isLater: true })
}

/**
 * Splits records at the outbox, which is published in order: records before its rows in their partition are older than
 * the rows.
 */
export function splitAtOutbox(
  later: readonly Published[],
  waiting: readonly Pick<FormFact, 'id'>[],
): { readonly before: readonly Published[]; readonly rest: readonly Published[] } {
  const ids = new Set(waiting.map(({ id }) => id))
  const reached = new Set<number>()
  const isBefore = ({ partition, fact }: Published): boolean => {
    if (ids.has(fact.id)) reached.add(partition)
    return !reached.has(partition)
  }
  const { before = [], rest = [] } = Object.groupBy(later, (one) => (isBefore(one) ? 'before' : 'rest'))
  return { before, rest }
}
