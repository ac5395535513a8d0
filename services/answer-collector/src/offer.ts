import type { AnyFormFact, Answers, AnswerValue, ChoiceAnswer, ElementType, FormQueued } from '@nextvisit/contracts'
import type { RowOf } from '@nextvisit/database'
import type { offers } from './tables.ts'

/** A value that an answer counts for; '': the answer itself. */
export type CountedValue = readonly [element: string, type: ElementType, value: string]

/** A row of a queue with its answers. `answers` is JSON. */
export interface Offer extends Omit<RowOf<typeof offers>, 'counted'> {
  readonly counted: readonly CountedValue[]
}

/**
 * Maximum size of the merged answers of an offer, bytes. The answers of one request are smaller, so only answers to elements of many
 * revisions reach it. Then the latest request counts alone.
 */
export const MAX_ANSWER_BYTES = 256 * 1024

const NO_ANSWERS = { answers: '{}', answerBytes: 2, counted: [] } as const

export function offerOf(fact: FormQueued): Offer {
  const { organization, project, userId, queuedId: id, formId, environment, causeId, at: queuedAt } = fact
  return {
    organization,
    project,
    userId,
    id,
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
    ...NO_ANSWERS,
  }
}

/** Applies the delivery of an offer. Answers that were given before it keep their environment, language and revision. */
export function deliver(offer: Offer, { at, environment, language, revision }: AnyFormFact<'FormDelivered'>): Offer {
  const delivered = { ...offer, deliveredAt: at }
  if (offer.startedAt !== null) return delivered
  return { ...delivered, environment, language: language ?? null, revision: revision ?? null }
}

/** Applies a recorded answer to an offer that is not ended. Answers whose key is destroyed count, but are not readable. */
export function answer(offer: Offer, fact: AnyFormFact<'FormAnswered'>): Offer {
  const { id, at, status, environment, revision, elements } = fact
  const starts = offer.startedAt === null && Object.keys(elements).length > 0
  return {
    ...offer,
    ...(starts && { startedAt: at, answerId: id }),
    ...mergeAnswers(offer, fact),
    environment,
    language: fact.language ?? offer.language,
    revision,
    status,
    endedAt: status === 'partial' ? null : at,
  }
}

type MergedAnswers = Pick<Offer, 'answers' | 'answerBytes' | 'counted'>

/** `finished` has the complete set of answers. Others change single elements. */
function mergeAnswers(offer: Offer, fact: AnyFormFact<'FormAnswered'>): MergedAnswers {
  const { status, answers, elements } = fact
  const before: MergedAnswers = status === 'finished' ? NO_ANSWERS : offer
  if (answers === undefined) {
    const { counted, answerBytes } = before
    return { answers: before.answers, answerBytes, counted }
  }
  const own = countedIn(answers, elements)
  const merged = asJson({ ...(JSON.parse(before.answers) as Answers), ...answers })
  if (merged.answerBytes > MAX_ANSWER_BYTES) return { ...asJson(answers), counted: own }
  const kept = before.counted.filter(([element]) => !Object.hasOwn(answers, element))
  return { ...merged, counted: [...kept, ...own] }
}

function asJson(given: Answers): Pick<Offer, 'answers' | 'answerBytes'> {
  const answers = JSON.stringify(given)
  return { answers, answerBytes: Buffer.byteLength(answers) }
}

function countedIn(answers: Answers, elements: Readonly<Record<string, ElementType>>): readonly CountedValue[] {
  return Object.entries(elements).flatMap(([element, type]) => {
    const given = Object.hasOwn(answers, element) ? answers[element] : undefined
    if (given === undefined) return []
    const values = [...new Set(valuesOf(type, given))]
    return ['', ...values].map((value): CountedValue => [element, type, value])
  })
}

/** Returns the values that an answer counts for. Texts of users never count. */
function valuesOf(type: ElementType, given: AnswerValue): readonly string[] {
  switch (type) {
    case 'nps':
    case 'rating':
      return typeof given === 'number' ? [String(given)] : []
    case 'consent':
      return typeof given === 'boolean' ? [String(given)] : []
    case 'choice':
    case 'choices':
      return (Array.isArray(given) ? given : [given]).flatMap(optionOf)
    case 'text':
      return []
  }
}

const MAX_OPTION_ID_LENGTH = 63

/** Ids of options are short. Any other text would be one of a user. */
function optionOf(choice: Exclude<AnswerValue, readonly ChoiceAnswer[]>): readonly string[] {
  if (typeof choice === 'object') return ['other']
  return typeof choice === 'string' && choice.length > 0 && choice.length <= MAX_OPTION_ID_LENGTH ? [choice] : []
}
