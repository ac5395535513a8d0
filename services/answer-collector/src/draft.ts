import type { ErasedUser, Recorded } from '@nextvisit/consumer'
import type { AnyFormFact } from '@nextvisit/contracts'
import type { NewRow } from '@nextvisit/database'
import { userKeyOf } from '@nextvisit/domain'
import type { AnswerTime } from './answer-times.ts'
import type { Offer } from './offer.ts'
import type { funnelDays } from './tables.ts'

/** An offer that a batch has changed, and the partition of its user. */
interface ChangedOffer {
  readonly offer: Offer
  readonly partition: number
}

/** The offers that a batch names, by {@link offerKeyOf}: stored, and changed by the batch. Steps and times are additions. */
export interface Draft {
  readonly stored: ReadonlyMap<string, Offer>
  readonly changed: Map<string, ChangedOffer>
  readonly steps: NewRow<typeof funnelDays>[]
  readonly times: AnswerTime[]
  /** The core folds no later record of these users with them. */
  readonly erased: ErasedUser[]
  /** Number of steps of offers that are not there, for metrics. */
  ignoredSteps: number
}

/** A step of an offer. `unmatched`: an answer to an offer that the user never had. */
export type Step = 'queued' | 'delivered' | 'started' | 'finished' | 'dismissed' | 'expired' | 'unmatched'

/** A record about an offer. */
export type OfferFact = Extract<AnyFormFact, { readonly queuedId: string }>

/** The environment and the language that a step counts in. */
interface CountedIn {
  readonly environment: string
  readonly language?: string | undefined
}

/** Offers of different users may have one id only in hostile records. */
export function offerKeyOf(offer: Pick<Offer, 'organization' | 'project' | 'userId' | 'id'>): string {
  return `${userKeyOf(offer)}/${offer.id}`
}

/** Returns the offer that a fact names; undefined: it was never queued, or an erasure has deleted it. */
export function offerNamed({ stored, changed }: Draft, fact: OfferFact): Offer | undefined {
  const key = offerKeyOf({ ...fact, id: fact.queuedId })
  return changed.get(key)?.offer ?? stored.get(key)
}

export function putOffer({ changed }: Draft, offer: Offer, partition: number): void {
  changed.set(offerKeyOf(offer), { offer, partition })
}

/** Counts a step on the day of its own instant. */
export function addStep(
  { steps }: Draft,
  { fact, partition }: Recorded<OfferFact>,
  step: Step,
  { environment, language = '' }: CountedIn,
): void {
  const { organization, project, formId, at } = fact
  steps.push({ organization, project, formId, environment, day: dayOf(at), language, step, partition, count: 1 })
}

/** Returns the UTC day of an instant. */
export function dayOf(instant: string): string {
  return instant.slice(0, 'YYYY-MM-DD'.length)
}
