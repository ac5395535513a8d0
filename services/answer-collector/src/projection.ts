import { erasedUserOf, type Projection, type Recorded } from '@nextvisit/consumer'
import { type AnyFormFact, SealedFormFact, TOPICS } from '@nextvisit/contracts'
import type { ZodType } from 'zod'
import { addStep, dayOf, type Draft, offerNamed, putOffer } from './draft.ts'
import { loadDraft } from './load-draft.ts'
import { answer, deliver, offerOf } from './offer.ts'
import { saveDraft } from './save-draft.ts'

/**
 * Creates the projection of answers and results. The evaluator has decided the outcome of an answer, so this fold needs neither the
 * catalog nor `user-events`. An offer takes each step once, because the log may contain its records twice.
 */
export function createProjection(): Projection<AnyFormFact, Draft> {
  return {
    name: 'answer-collector',
    topic: TOPICS.formEvents,
    schema: SealedFormFact as ZodType<AnyFormFact>,
    fence: 'QueueErased',
    opens: (fact) => fact.type === 'FormAnswered' && fact.outcome === 'recorded',
    // Of an erasure, the first copy is the fence. An answer that comes again must not undo a later one.
    idempotencyOf: (fact) => {
      if (fact.type === 'QueueErased') return { id: fact.id, receivedMs: Infinity }
      return fact.type === 'FormAnswered' ? { id: fact.id, receivedMs: Date.parse(fact.at) } : undefined
    },
    load: loadDraft,
    evolve: {
      FormQueued: evolveQueued,
      FormDelivered: evolveDelivered,
      FormExpired: evolveExpired,
      FormCancelled: 'ignored',
      FormAnswered: evolveAnswered,
      QueueErased: ({ erased }, record) => {
        erased.push(erasedUserOf(record))
      },
    },
    save: (draft) => ({ statements: saveDraft(draft) }),
  }
}

function evolveQueued(draft: Draft, record: Recorded<AnyFormFact<'FormQueued'>>): void {
  const { fact, partition } = record
  if (offerNamed(draft, fact)) return
  putOffer(draft, offerOf(fact), partition)
  addStep(draft, record, 'queued', { environment: fact.environment })
}

function evolveDelivered(draft: Draft, record: Recorded<AnyFormFact<'FormDelivered'>>): void {
  const offer = offerNamed(draft, record.fact)
  if (!offer || offer.deliveredAt !== null) return
  putOffer(draft, deliver(offer, record.fact), record.partition)
  addStep(draft, record, 'delivered', record.fact)
}

function evolveExpired(draft: Draft, record: Recorded<AnyFormFact<'FormExpired'>>): void {
  const offer = offerNamed(draft, record.fact)
  if (!offer || offer.expiredAt !== null) return
  putOffer(draft, { ...offer, expiredAt: record.fact.at }, record.partition)
  addStep(draft, record, 'expired', { environment: offer.environment })
}

function evolveAnswered(draft: Draft, record: Recorded<AnyFormFact<'FormAnswered'>>): void {
  const { fact, partition } = record
  if (fact.outcome === 'unmatched') addStep(draft, record, 'unmatched', fact)
  const before = fact.outcome === 'recorded' ? offerNamed(draft, fact) : undefined
  if (!before || before.endedAt !== null) return
  const after = answer(before, fact)
  putOffer(draft, after, partition)
  const { organization, project, formId, environment, deliveredAt } = after
  const countedIn = { environment, language: after.language ?? '' }
  if (after.startedAt !== before.startedAt) addStep(draft, record, 'started', countedIn)
  if (fact.status !== 'partial') addStep(draft, record, fact.status, countedIn)
  if (fact.status !== 'finished' || deliveredAt === null) return
  const seconds = secondsBetween(deliveredAt, fact.at)
  draft.seconds.push({ organization, project, formId, ...countedIn, day: dayOf(fact.at), seconds, partition, count: 1 })
}

const MAX_SECONDS = 2 ** 31 - 1

/** The clocks of gateways differ, so an answer may seem to precede the delivery. */
function secondsBetween(from: string, to: string): number {
  const seconds = Math.floor((Date.parse(to) - Date.parse(from)) / 1_000)
  return Math.min(Math.max(seconds, 0), MAX_SECONDS)
}
