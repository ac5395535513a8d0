import { erasedUserOf, type Projection, type ProjectionParts, type Recorded } from '@nextvisit/consumer'
import { type AnyFormFact, SealedFormFact, TOPICS } from '@nextvisit/contracts'
import { Counter } from '@nextvisit/service-kit'
import type { ZodType } from 'zod'
import { addStep, dayOf, type Draft, type OfferFact, offerNamed, putOffer } from './draft.ts'
import { loadDraft } from './load-draft.ts'
import { answer, deliver, type Offer, offerOf } from './offer.ts'
import { saveDraft } from './save-draft.ts'

/**
 * Creates the projection of answers and results. The evaluator has decided the outcome of an answer, so this fold needs neither the
 * catalog nor `user-events`. An offer takes each step once, because the log may contain its records twice.
 */
export function createProjection({ metrics }: Pick<ProjectionParts, 'metrics'>): Projection<AnyFormFact, Draft> {
  const ignored = new Counter({
    name: 'ignored_form_steps_total',
    help: 'Deliveries, expiries and answers of forms of which no FormQueued was folded',
    registers: [metrics],
  })
  return {
    name: 'answer-collector',
    topic: TOPICS.formEvents,
    schema: SealedFormFact as ZodType<AnyFormFact>,
    fence: 'QueueErased',
    opens: (fact) => fact.type === 'FormAnswered' && fact.outcome === 'recorded',
    idempotencyOf,
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
      SegmentEntered: 'ignored',
      SegmentLeft: 'ignored',
    },
    save: (draft) => ({ statements: saveDraft(draft) }),
    afterCommit: async (_db, { ignoredSteps }) => ignored.inc(ignoredSteps),
  }
}

/**
 * Of an erasure, the first copy is the fence. An answer that comes again must not undo a later one. An unmatched one changes no offer that
 * would show that it was counted, so its copies are dropped at any time: a restored evaluator publishes it again, however old it is. One
 * that was recorded before is dropped, too, while the ledger has it.
 */
function idempotencyOf(fact: AnyFormFact) {
  if (fact.type === 'QueueErased') return { id: fact.id, receivedMs: Infinity }
  if (fact.type !== 'FormAnswered') return undefined
  return { id: fact.id, receivedMs: fact.outcome === 'unmatched' ? Infinity : Date.parse(fact.at) }
}

/** Returns the offer of a step. Without it, the step is ignored: the record that queued the form is a dead letter, or an erasure has passed. */
function offerOfStep(draft: Draft, fact: OfferFact): Offer | undefined {
  const offer = offerNamed(draft, fact)
  if (!offer) draft.ignoredSteps += 1
  return offer
}

function evolveQueued(draft: Draft, record: Recorded<AnyFormFact<'FormQueued'>>): void {
  const { fact, partition } = record
  if (offerNamed(draft, fact)) return
  putOffer(draft, offerOf(fact), partition)
  addStep(draft, record, 'queued', { environment: fact.environment })
}

function evolveDelivered(draft: Draft, record: Recorded<AnyFormFact<'FormDelivered'>>): void {
  const offer = offerOfStep(draft, record.fact)
  if (!offer || offer.deliveredAt !== null) return
  putOffer(draft, deliver(offer, record.fact), record.partition)
  addStep(draft, record, 'delivered', record.fact)
}

function evolveExpired(draft: Draft, record: Recorded<AnyFormFact<'FormExpired'>>): void {
  const offer = offerOfStep(draft, record.fact)
  if (!offer || offer.expiredAt !== null) return
  putOffer(draft, { ...offer, expiredAt: record.fact.at }, record.partition)
  addStep(draft, record, 'expired', { environment: offer.environment })
}

function evolveAnswered(draft: Draft, record: Recorded<AnyFormFact<'FormAnswered'>>): void {
  const { fact, partition } = record
  if (fact.outcome === 'unmatched') addStep(draft, record, 'unmatched', fact)
  const before = fact.outcome === 'recorded' ? offerOfStep(draft, fact) : undefined
  if (!before || before.endedAt !== null) return
  const after = answer(before, fact)
  putOffer(draft, after, partition)
  const { organization, project, formId, environment, deliveredAt } = after
  const countedIn = { environment, language: after.language ?? '' }
  if (after.startedAt !== before.startedAt) addStep(draft, record, 'started', countedIn)
  if (fact.status !== 'partial') addStep(draft, record, fact.status, countedIn)
  if (fact.status !== 'finished' || deliveredAt === null) return
  const seconds = secondsBetween(deliveredAt, fact.at)
  draft.times.push({ organization, project, formId, ...countedIn, day: dayOf(fact.at), seconds, partition })
}

const MAX_SECONDS = 2 ** 31 - 1

/** The clocks of gateways differ, so an answer may seem to precede the delivery. */
function secondsBetween(from: string, to: string): number {
  const seconds = Math.floor((Date.parse(to) - Date.parse(from)) / 1_000)
  return Math.min(Math.max(seconds, 0), MAX_SECONDS)
}
