import type { FormAnswered, FormDelivered, FormQueued, ProjectRef, UserRef } from './facts.ts'
import { bytesOf, countedOf, type CountedValue, NO_OFFER_ANSWERS, type OfferAnswers } from './offer-answers.ts'

/** A row of `offers` according to its facts. */
export interface Offer extends ProjectRef {
  readonly partition: number
  readonly formId: string
  readonly environment: 'P' | 'T'
  readonly language: string | null
  readonly revision: number | null
  readonly causeId: string
  readonly queuedAt: string
  readonly deliveredAt: string | null
  readonly expiredAt: string | null
  readonly startedAt: string | null
  readonly answerId: string | null
  readonly endedAt: string | null
  readonly status: FormAnswered['status'] | null
  readonly answers: OfferAnswers
}

export function queuedOffer(fact: FormQueued, partition: number): Offer {
  const { organization, project, formId, environment, causeId, at: queuedAt } = fact
  return {
    organization,
    project,
    partition,
    formId,
    environment,
    language: null,
    revision: null,
    causeId,
    queuedAt,
    deliveredAt: null,
    expiredAt: null,
    startedAt: null,
    answerId: null,
    endedAt: null,
    status: null,
    answers: NO_OFFER_ANSWERS,
  }
}

/** Answers before the delivery keep their environment, language and revision. */
export function deliveredOffer(offer: Offer, { at, environment, language, revision }: FormDelivered): Offer {
  const shown = { environment, language: language ?? null, revision: revision ?? null }
  return { ...offer, ...(offer.startedAt === null && shown), deliveredAt: at }
}

export interface StoredOffer extends UserRef {
  readonly id: string
  readonly answers: string
  readonly counted: string
}

/** Columns that are folded from sealed answers. */
export const OF_ANSWERS: ReadonlySet<string> = new Set(['answers', 'answerBytes', 'counted'])

export function offerCells({ organization: _o, project: _p, partition: _n, answers, ...row }: Offer) {
  const { values = new Map<string, unknown>() } = answers
  return { ...row, answers: values, answerBytes: bytesOf(values), counted: sortedText(countedOf(answers)) }
}

export function storedCells({ answers, counted, ...row }: StoredOffer) {
  const values = new Map(Object.entries(JSON.parse(answers) as Record<string, unknown>))
  return { ...row, answers: values, counted: sortedText(JSON.parse(counted) as CountedValue[]) }
}

function sortedText(counted: readonly CountedValue[]): string {
  return JSON.stringify(counted.map((one) => JSON.stringify(one)).toSorted())
}
