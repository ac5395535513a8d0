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
 * A user's answers to a form, as far as conditions read them: those of one offer (forms.md, Conditions on answers). It is the offer that
 * was finished last; while none was finished, the one that was begun last. An offer begins with its first answer in the log. Folded from
 * `AnswerGiven` alone, whether or not the user ever had the offer. Instants in ms since the epoch.
 */
export interface AnswerState {
  readonly offerId: string
  /** `finished` if any offer of the form was finished. */
  readonly status: AnswerStatus
  /** The instant from which the answers of this offer are kept. */
  readonly keptSince: number
  /** The instant at which the offer was finished or dismissed. undefined: it was not. */
  readonly endedAt?: number | undefined
  /** The answers by element, as conditions compare them. Of texts of the user, only that they were given: null. */
  readonly answers: ReadonlyMap<string, TraitValue>
  /** Other offers with an answer, the latest last, and whether each has ended. */
  readonly otherOffers: ReadonlyMap<string, boolean>
}

/** By form id. */
export type AnswerStates = ReadonlyMap<string, AnswerState>

/** Maximum number of forms of a user whose answers are kept. Of others, the rest of the state is kept. */
export const MAX_FORMS_WITH_ANSWERS = 100
/** Maximum number of forms of a user of which anything is kept. */
export const MAX_ANSWERED_FORMS = 1_000
/** Maximum number of other offers of a form that are kept. */
export const MAX_OTHER_OFFERS = 20
/** A content has at most as many bytes, and so have the ids of its elements and options. */
const MAX_ANSWERS_BYTES = 65_536
const MAX_OTHER_OFFERS_BYTES = 1_024

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

/** Returns the instant at which an offer of a form was finished last; undefined: none was. */
export function finishedAtOf(state: AnswerState | undefined): number | undefined {
  return state?.status === 'finished' ? state.endedAt : undefined
}

function nextState(state: AnswerState | undefined, fact: AnswerGiven): AnswerState {
  const { offerId, status } = fact
  if (!state || state.offerId === offerId) return withOwnAnswer(state, fact, state?.otherOffers ?? new Map())
  const hasEnded = state.otherOffers.get(offerId)
  if (hasEnded === true) return state
  const isNew = hasEnded === undefined
  if (status === 'finished' || (isNew && state.status !== 'finished'))
    return withOwnAnswer(undefined, fact, otherOffersOf(state, offerId))
  // The kept answers stay. Of the other offer, it is known that it was begun, and whether it has ended.
  if (!isNew && status === 'partial') return state
  return { ...state, otherOffers: latestOffers([...state.otherOffers, [offerId, status !== 'partial']]) }
}

/**
 * Applies an answer to the offer whose answers are kept. Its first end counts. A finished answer has the complete set of answers; others add
 * to those before.
 */
function withOwnAnswer(
  state: AnswerState | undefined,
  fact: AnswerGiven,
  otherOffers: AnswerState['otherOffers'],
): AnswerState {
  if (state?.endedAt !== undefined) return state
  const { offerId, status, received } = fact
  const at = Date.parse(received)
  return {
    offerId,
    status,
    keptSince: state?.keptSince ?? at,
    endedAt: status === 'partial' ? undefined : at,
    answers: merged(status === 'finished' ? NO_VALUES : (state?.answers ?? NO_VALUES), keptAnswers(fact)),
    otherOffers,
  }
}

/** Returns the offers beside one whose answers replace those of a state. */
function otherOffersOf({ otherOffers, offerId, endedAt }: AnswerState, replacing: string): AnswerState['otherOffers'] {
  const others = [...otherOffers].filter(([other]) => other !== replacing)
  return latestOffers([...others, [offerId, endedAt !== undefined]])
}

/** Returns offers in the order in which each was first named, with the last value of each. The latest are kept. */
function latestOffers(offers: readonly (readonly [string, boolean])[]): AnswerState['otherOffers'] {
  return new Map([...new Map(offers)].slice(-MAX_OTHER_OFFERS))
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
  const emptied = withAnswers.length > MAX_FORMS_WITH_ANSWERS ? keptLongest(withAnswers, latest) : undefined
  if (emptied) states.set(emptied[0], { ...emptied[1], answers: NO_VALUES })
  const dropped = states.size > MAX_ANSWERED_FORMS ? keptLongest([...states], latest) : undefined
  if (dropped) states.delete(dropped[0])
  return states
}

/** Returns the form whose answers are kept for the longest time, apart from the latest one. */
function keptLongest(states: readonly (readonly [string, AnswerState])[], latest: string) {
  const [first] = states
    .filter(([formId]) => formId !== latest)
    .toSorted(([id, one], [otherId, other]) => one.keptSince - other.keptSince || (id < otherId ? -1 : 1))
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
  const ofUser = MAX_FORMS_WITH_ANSWERS * MAX_ANSWERS_BYTES + MAX_ANSWERED_FORMS * MAX_OTHER_OFFERS_BYTES
  return users * ofUser + forms * (MAX_ANSWERS_BYTES + MAX_OTHER_OFFERS_BYTES)
}

/** A state as a row has it: instants in ISO, answers and other offers in JSON. */
export interface StoredAnswers {
  readonly offerId: string
  readonly status: string
  readonly keptSince: string
  readonly endedAt: string | null
  readonly answers: string
  readonly otherOffers: string
}

export function storedAnswersOf(state: AnswerState): StoredAnswers {
  const { keptSince, endedAt, answers, otherOffers } = state
  return {
    ...state,
    keptSince: isoInstant(keptSince),
    endedAt: endedAt === undefined ? null : isoInstant(endedAt),
    answers: JSON.stringify(Object.fromEntries(answers)),
    otherOffers: JSON.stringify(Object.fromEntries(otherOffers)),
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
  keptSince,
  endedAt,
  answers,
  otherOffers,
}: StoredAnswers): AnswerState {
  return {
    offerId,
    status: status as AnswerStatus,
    keptSince: Date.parse(keptSince),
    endedAt: endedAt === null ? undefined : Date.parse(endedAt),
    answers: new Map(Object.entries(JSON.parse(answers) as Readonly<Record<string, TraitValue>>)),
    otherOffers: new Map(Object.entries(JSON.parse(otherOffers) as Readonly<Record<string, boolean>>)),
  }
}
