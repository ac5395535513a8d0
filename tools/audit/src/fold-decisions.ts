import type { FetchedRecord, LogConnection, Watermarks } from '@nextvisit/log'
import { type DecidedFact, type FormFact, isSegmentFact, type SegmentFact } from './facts.ts'
import { readAll } from './read-all.ts'
import { readFormFact } from './read-fact.ts'
import type { Snapshot } from './snapshot.ts'

/** Receives a fact. `isLater`: it may be newer than the snapshot. */
export type FoldPublished<Fact> = (fact: Fact, how: { readonly isLater: boolean }) => void

export interface FoldDecisionsOptions {
  readonly connection: LogConnection
  readonly topic: string
  /** End of the topic before the snapshots. */
  readonly decidedBefore: ReadonlyMap<number, Watermarks>
  readonly snapshots: readonly Snapshot[]
  /** Receives the facts of the evaluator. */
  readonly foldForm: FoldPublished<FormFact>
  /** Receives the facts of the user projector. */
  readonly foldSegment: FoldPublished<SegmentFact>
  /** Returns whether a user belongs to this pass. */
  readonly isMine: (userId: string) => boolean
}

interface Published<Fact> {
  readonly partition: number
  readonly fact: Fact
}

/** A consumer that publishes facts on `form-events`, and their fold. */
interface Publisher {
  readonly see: (published: Published<DecidedFact>, how: { readonly isLater: boolean }) => void
  readonly end: () => Promise<void>
}

/**
 * Folds decisions and changed memberships in their original order, for each publisher whose snapshot is given: those published before the
 * snapshot, those that the outbox had published and dropped by then, those waiting in it, and those that may be newer.
 */
export async function foldDecisions(options: FoldDecisionsOptions): Promise<void> {
  const { connection, topic, decidedBefore, snapshots, foldForm, foldSegment, isMine } = options
  const factIn = (record: Pick<FetchedRecord, 'value' | 'headers'>): DecidedFact | undefined => {
    const reading = readFormFact(record)
    return reading.outcome === 'read' && isMine(reading.fact.userId) ? reading.fact : undefined
  }
  const readOutbox = async ({ rows }: Snapshot): Promise<readonly DecidedFact[]> => {
    const waiting: DecidedFact[] = []
    const outbox = rows<{ value: string; headers: Record<string, string> }>(
      'SELECT value, headers FROM outbox WHERE topic = $1 ORDER BY sequence',
      [topic],
    )
    for await (const { value, headers } of outbox) {
      const fact = factIn({ value: Buffer.from(value), headers })
      if (fact) waiting.push(fact)
    }
    return waiting
  }
  const publishers = [
    createPublisher('form-trigger-evaluator', isFormFact, foldForm),
    createPublisher('user-projector', isSegmentFact, foldSegment),
  ].filter((publisher) => publisher !== undefined)
  if (publishers.length === 0) return

  function createPublisher<Fact extends DecidedFact>(
    service: Snapshot['service'],
    isOwn: (fact: DecidedFact) => fact is Fact,
    fold: FoldPublished<Fact>,
  ): Publisher | undefined {
    const snapshot = snapshots.find((one) => one.service === service)
    if (!snapshot) return undefined
    const later: Published<Fact>[] = []
    return {
      see: ({ partition, fact }, { isLater }) => {
        if (!isOwn(fact)) return
        if (isLater) later.push({ partition, fact })
        else fold(fact, { isLater: false })
      },
      end: async () => {
        const waiting = (await readOutbox(snapshot)).filter(isOwn)
        const { before, rest } = splitAtOutbox(later, waiting)
        for (const { fact } of before) fold(fact, { isLater: true })
        for (const fact of waiting) fold(fact, { isLater: false })
        for (const { fact } of rest) fold(fact, { isLater: true })
      },
    }
  }

  await readAll(connection, topic, decidedBefore, (record) => {
    const fact = factIn(record)
    if (!fact) return
    const { partition, offset } = record
    const isLater = offset >= (decidedBefore.get(partition)?.high ?? 0n)
    for (const { see } of publishers) see({ partition, fact }, { isLater })
  })
  for (const { end } of publishers) await end()
}

function isFormFact(fact: DecidedFact): fact is FormFact {
  return fact.type !== 'QueueErased' && !isSegmentFact(fact)
}

/**
 * Splits records at the outbox, which is published in order: records before its rows in their partition are older than
 * the rows.
 */
export function splitAtOutbox<Fact extends { readonly id: string }>(
  later: readonly Published<Fact>[],
  waiting: readonly { readonly id: string }[],
): { readonly before: readonly Published<Fact>[]; readonly rest: readonly Published<Fact>[] } {
  const ids = new Set(waiting.map(({ id }) => id))
  const reached = new Set<number>()
  const isBefore = ({ partition, fact }: Published<Fact>): boolean => {
    if (ids.has(fact.id)) reached.add(partition)
    return !reached.has(partition)
  }
  const { before = [], rest = [] } = Object.groupBy(later, (one) => (isBefore(one) ? 'before' : 'rest'))
  return { before, rest }
}
