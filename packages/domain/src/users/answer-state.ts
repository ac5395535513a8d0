import {
  type AnswerGiven,
  type AnswerStatus,
  type AnswerValue,
  MAX_ELEMENTS,
  type TraitValue,
  type UserRef,
} from '@nextvisit/contracts'
import { comparedValueOf } from './compared-value.ts'
import { isoInstant } from '../time/iso-instant.ts'

/**
 * A user's answers to a form, as far as conditions read them: those of the offer that was begun last (forms.md, Conditions). An offer
 * begins with its first answer in the log. Folded from `AnswerGiven` alone, whether or not the user ever had the offer. Instants in
 * ms since the epoch.
 */
export interface AnswerState {
  readonly offerId: string
  readonly status: AnswerStatus
  /** The instant of the offer's first answer. */
  readonly startedAt: number
  /** The instant at which the offer was finished or dismissed. undefined: it was not. */
  readonly endedAt?: number | undefined
  /** The instant at which an offer of the form was finished last. undefined: none was. */
  readonly finishedAt?: number | undefined
  /** The answers by element, as conditions compare them. Of texts of the user, only that they were given: null. */
  readonly answers: ReadonlyMap<string, TraitValue>
  /** Offers that were begun before, the earliest first, and whether each has ended. */
  readonly earlierOffers: ReadonlyMap<string, boolean>
}

/** By form id. */
export type AnswerStates = ReadonlyMap<string, AnswerState>

/** Maximum number of forms of a user whose answers are kept. Of others, it is kept whether they were finished. */
export const MAX_FORMS_WITH_ANSWERS = 100
/** Maximum number of forms of a user of which anything is kept. */
export const MAX_ANSWERED_FORMS = 1_000
/** Maximum number of earlier offers of a form that are kept. */
export const MAX_EARLIER_OFFERS = 20
/** A content has at most as many bytes, and so have the ids of its elements and options. */
const MAX_ANSWERS_BYTES = 65_536
const MAX_EARLIER_OFFERS_BYTES = 1_024

export const NO_ANSWERS: AnswerStates = new Map()
const NO_VALUES: AnswerState['answers'] = new Map()

/**
 * Applies an answer. `states` must contain every form of the user. Returns the same object if nothing changes: the offer was ended
 * before, or the key of the answers is destroyed. Other states keep their identity.
 */
export function applyAnswer(states: AnswerStates, fact: AnswerGiven): AnswerStates {
  if (isClosed(fact)) return states
  const before = states.get(fact.formId)
  const after = nextState(before, fact)
  if (after === before) return states
  return withinLimits(new Map(states).set(fact.formId, after), fact.formId)
}

/** Returns true for an answer whose sealed members were not opened, whatever its type says. */
export function isClosed(fact: AnswerGiven): boolean {
  return 'sealed' in fact
}

/** A finished answer has the complete set of answers. Others add to the answers of the same offer. */
function nextState(state: AnswerState | undefined, fact: AnswerGiven): AnswerState {
  const { offerId, status, received } = fact
  if (state?.earlierOffers.has(offerId)) return withEarlierAnswered(state, fact)
  const at = Date.parse(received)
  const same = state?.offerId === offerId ? state : undefined
  if (same?.endedAt !== undefined) return same
  return {
    offerId,
    status,
    startedAt: same?.startedAt ?? at,
    endedAt: status === 'partial' ? undefined : at,
    finishedAt: status === 'finished' ? at : state?.finishedAt,
    answers: merged(status === 'finished' ? NO_VALUES : (same?.answers ?? NO_VALUES), keptAnswers(fact)),
    earlierOffers: same?.earlierOffers ?? offersUntil(state),
  }
}

/** Applies an answer to an earlier offer: no answers change. Only the first answer that ends it counts, and may finish the form. */
function withEarlierAnswered(state: AnswerState, { offerId, status, received }: AnswerGiven): AnswerState {
  const hasEnded = state.earlierOffers.get(offerId)
  if (hasEnded || status === 'partial') return state
  return {
    ...state,
    finishedAt: status === 'finished' ? Date.parse(received) : state.finishedAt,
    earlierOffers: new Map(state.earlierOffers).set(offerId, true),
  }
}

/** Returns the offers before one that begins now. The latest are kept. */
function offersUntil(state: AnswerState | undefined): AnswerState['earlierOffers'] {
  if (!state) return new Map()
  const { earlierOffers, offerId, endedAt } = state
  return new Map([...earlierOffers, [offerId, endedAt !== undefined] as const].slice(-MAX_EARLIER_OFFERS))
}

/** Merges answers. Answers under several revisions may have more elements than a content: those that were given last are kept. */
function merged(before: AnswerState['answers'], added: AnswerState['answers']): AnswerState['answers'] {
  const others = [...before].filter(([element]) => !added.has(element))
  return new Map([...others, ...added].slice(-MAX_ELEMENTS))
}

function keptAnswers({ answers, elements }: AnswerGiven): AnswerState['answers'] {
  return new Map(
    Object.entries(answers).map(([element, answer]) => [
      element,
      keptValueOf(answer, Object.hasOwn(elements, element) && elements[element] === 'choice'),
    ]),
  )
}

function keptValueOf(answer: AnswerValue, isChoice: boolean): TraitValue {
  return typeof answer === 'string' && !isChoice ? null : comparedValueOf(answer)
}

/** Drops the answers of one form, and one form, if there are too many with the latest. */
function withinLimits(states: Map<string, AnswerState>, latest: string): AnswerStates {
  const withAnswers = [...states].filter(([, { answers }]) => answers.size > 0)
  const emptied = withAnswers.length > MAX_FORMS_WITH_ANSWERS ? begunFirst(withAnswers, latest) : undefined
  if (emptied) states.set(emptied[0], { ...emptied[1], answers: NO_VALUES })
  const dropped = states.size > MAX_ANSWERED_FORMS ? begunFirst([...states], latest) : undefined
  if (dropped) states.delete(dropped[0])
  return states
}

/** Returns the form whose offer was begun first, apart from the latest one. */
function begunFirst(states: readonly (readonly [string, AnswerState])[], latest: string) {
  const [first] = states
    .filter(([formId]) => formId !== latest)
    .toSorted(([id, one], [otherId, other]) => one.startedAt - other.startedAt || (id < otherId ? -1 : 1))
  return first
}

/** Returns the states of `after` that differ from `before`, and the forms that it lacks. */
export function changedAnswers(before: AnswerStates, after: AnswerStates) {
  if (before === after) return { written: [], dropped: [] }
  return {
    written: [...after].filter(([formId, state]) => before.get(formId) !== state),
    dropped: [...before.keys()].filter((formId) => !after.has(formId)),
  }
}

/** Returns the maximum bytes of stored answers and offers: of all forms of users, and of single forms. */
export function maxAnswerBytes({ users, forms }: { readonly users: number; readonly forms: number }): number {
  const ofUser = MAX_FORMS_WITH_ANSWERS * MAX_ANSWERS_BYTES + MAX_ANSWERED_FORMS * MAX_EARLIER_OFFERS_BYTES
  return users * ofUser + forms * (MAX_ANSWERS_BYTES + MAX_EARLIER_OFFERS_BYTES)
}

/** A state as a row has it: instants in ISO, answers and earlier offers in JSON. */
export interface StoredAnswers {
  readonly offerId: string
  readonly status: string
  readonly startedAt: string
  readonly endedAt: string | null
  readonly finishedAt: string | null
  readonly answers: string
  readonly earlierOffers: string
}

export function storedAnswersOf(state: AnswerState): StoredAnswers {
  const { startedAt, endedAt, finishedAt, answers, earlierOffers } = state
  return {
    ...state,
    startedAt: isoInstant(startedAt),
    endedAt: endedAt === undefined ? null : isoInstant(endedAt),
    finishedAt: finishedAt === undefined ? null : isoInstant(finishedAt),
    answers: JSON.stringify(Object.fromEntries(answers)),
    earlierOffers: JSON.stringify(Object.fromEntries(earlierOffers)),
  }
}

/** Returns rows for the states that a user has changed, and the keys of those that are kept no longer. */
export function answerRowsOf({ organization, project, userId }: UserRef, before: AnswerStates, after: AnswerStates) {
  const { written, dropped } = changedAnswers(before, after)
  return {
    written: written.map(([formId, state]) => ({ organization, project, userId, formId, ...storedAnswersOf(state) })),
    dropped: dropped.map((formId) => ({ organization, project, userId, formId })),
  }
}

export function answerStateOf({
  offerId,
  status,
  startedAt,
  endedAt,
  finishedAt,
  answers,
  earlierOffers,
}: StoredAnswers): AnswerState {
  return {
    offerId,
    status: status as AnswerStatus,
    startedAt: Date.parse(startedAt),
    endedAt: endedAt === null ? undefined : Date.parse(endedAt),
    finishedAt: finishedAt === null ? undefined : Date.parse(finishedAt),
    answers: new Map(Object.entries(JSON.parse(answers) as Readonly<Record<string, TraitValue>>)),
    earlierOffers: new Map(Object.entries(JSON.parse(earlierOffers) as Readonly<Record<string, boolean>>)),
  }
}
