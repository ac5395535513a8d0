import { type EvaluatorReply, isRequestFact, type ProjectConfig } from '@nextvisit/contracts'
import { expect } from 'vitest'
import type { RunningEvaluator, Sent } from './given-running-evaluator.ts'
import { type ModelRow, QueueModel } from './queue-model.ts'

const COPY_WINDOW_MS = 24 * 3_600_000

/** The model's reply to a record. `row`: the offered row. */
export type Expected =
  | { readonly kind: 'track'; readonly recordId: string; readonly formsQueued: number }
  | {
      readonly kind: 'visit'
      readonly recordId: string
      readonly row: ModelRow | undefined
      readonly moreWaiting: boolean
    }

/** The model, and the records and replies so far. */
export interface QueueStory {
  readonly model: QueueModel
  /** Ms after the start. */
  now: number
  readonly sent: Sent[]
  /** As the gateway's `VisitAnswered` names them. */
  readonly offers: {
    readonly visitId: string
    readonly queuedId: string
    readonly formId: string
    readonly userId: string
    readonly received: string
  }[]
  readonly rowOf: Map<string, ModelRow>
  /** Requests with an `Idempotency-Key` and their replies, by record id. */
  readonly keyed: Map<string, { readonly received: number; readonly reply: Expected | undefined }>
}

export function beginStory(project: ProjectConfig): QueueStory {
  return { model: new QueueModel(project), now: 0, sent: [], offers: [], rowOf: new Map(), keyed: new Map() }
}

/**
 * Passes a record to the model. Returns the reply that a waiting gateway gets. A duplicate within 24 hours changes
 * nothing and gets the same reply.
 */
export function expectedReply(story: QueueStory, sent: Sent): Expected | undefined {
  const { fact, isHeard } = sent
  if (!isRequestFact(fact)) return void tell(story, sent)
  const received = Date.parse(fact.received)
  const before = fact.keyed ? story.keyed.get(fact.id) : undefined
  const isCopy = before !== undefined && received - before.received < COPY_WINDOW_MS
  const reply = isCopy ? before.reply : tell(story, sent)
  if (fact.keyed && !isCopy) story.keyed.set(fact.id, { received, reply })
  return isHeard ? reply : undefined
}

function tell({ model, rowOf }: QueueStory, { fact, isHeard }: Sent): Expected | undefined {
  switch (fact.type) {
    case 'VisitAnswered': {
      const row = rowOf.get(fact.queuedId)
      if (row) model.confirm(fact, row)
      return undefined
    }
    case 'AnswerGiven':
      model.answer(fact, rowOf.get(fact.offerId))
      return undefined
    case 'UserErased':
      throw new Error(`The model knows no ${fact.type}`)
    case 'EventTracked':
      return { kind: 'track', recordId: fact.id, formsQueued: model.track(fact) }
    case 'IdentifyRequested': {
      const offered = model.identify(fact, isHeard)
      return fact.source === 'admin' ? undefined : { kind: 'visit', recordId: fact.id, ...offered }
    }
  }
}

/** Compares replies with the model, and offers with its rows. */
export function expectReplies(
  story: QueueStory,
  replies: readonly EvaluatorReply[],
  expected: readonly (Expected | undefined)[],
): void {
  const wanted = expected.filter((one) => one !== undefined)
  const shown = wanted.map((one) =>
    one.kind === 'track' ? one : { ...one, row: undefined, form: one.row?.form ?? null },
  )
  const heard = replies.map((one) =>
    one.kind === 'track' ? one : { ...one, offer: undefined, form: one.offer?.formId ?? null },
  )
  expect(sorted(heard)).toEqual(sorted(shown))
  for (const reply of replies)
    if (reply.kind === 'visit' && reply.offer) noteOffer(story, reply.recordId, reply.offer, wanted)
}

function noteOffer(
  story: QueueStory,
  visitId: string,
  offer: { readonly queuedId: string; readonly formId: string },
  wanted: readonly Expected[],
): void {
  const meant = wanted.find((one) => one.recordId === visitId)
  const visit = story.sent.findLast(({ fact }) => fact.id === visitId)?.fact
  if (meant?.kind !== 'visit' || !meant.row || !visit) throw new Error('An offer that nobody asked for.')
  expect(story.rowOf.get(offer.queuedId) ?? meant.row).toBe(meant.row)
  story.rowOf.set(offer.queuedId, meant.row)
  story.offers.push({ visitId, ...offer, userId: visit.userId, received: visit.received })
}

/** Compares the queue, decisions and facts for `form-events` with the model. */
export async function expectSame({ model }: QueueStory, { prisma, takeTold }: RunningEvaluator): Promise<void> {
  const [rows, decisions, facts] = await Promise.all([
    prisma.queueRow.findMany(),
    prisma.decision.findMany(),
    takeTold(),
  ])
  expect(sorted(rows.map(asModelled))).toEqual(sorted(model.rows))
  const decided = decisions.map(({ userId, formId, outcome, recordId }) => ({
    of: `${userId} ${formId}`,
    outcome,
    record: recordId,
  }))
  expect(sorted(decided)).toEqual(sorted([...model.decisions].map(([of, decision]) => ({ of, ...decision }))))
  const told = facts.map((fact) => {
    const what = fact.type === 'FormAnswered' ? `FormAnswered ${fact.outcome} ${fact.status}` : fact.type
    return `${what} ${fact.userId} ${fact.formId}`
  })
  expect(byRow(told)).toEqual(byRow(model.told))
  model.told = []
}

/** Groups facts by user and form, in order. Facts of different forms may come in any order. */
function byRow(told: readonly string[]): ReadonlyMap<string, readonly string[]> {
  return Map.groupBy(told, (one) => one.split(' ').slice(-2).join(' '))
}

function asModelled(row: Awaited<ReturnType<RunningEvaluator['prisma']['queueRow']['findMany']>>[number]): ModelRow {
  return {
    user: row.userId,
    form: row.formId,
    cause: row.causeId,
    queuedAt: row.queuedAt.getTime(),
    priority: Number(row.priority),
    showFrom: row.showFrom.getTime(),
    expiresAt: row.expiresAt?.getTime() ?? null,
    state: row.state as ModelRow['state'],
    offeredAt: row.offeredAt?.getTime() ?? null,
    shownAt: row.shownAt?.getTime() ?? null,
    visitId: row.visitId,
    answerStatus: row.answerStatus as ModelRow['answerStatus'],
    startedAt: row.startedAt?.getTime() ?? null,
    endedAt: row.endedAt?.getTime() ?? null,
  }
}

function sorted<Item extends object>(items: readonly Item[]): readonly Item[] {
  const textOf = (item: Item) => JSON.stringify(item, Object.keys(item).toSorted())
  return items.toSorted((one, other) => textOf(one).localeCompare(textOf(other)))
}
