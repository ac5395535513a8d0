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
 * A user's answers to a form, as far as conditions read them: those of the offer that was answered last (forms.md, Conditions). Folded from
 * `AnswerGiven` alone, whether or not the user ever had the offer. Instants in ms since the epoch.
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
}

/** By form id. */
export type AnswerStates = ReadonlyMap<string, AnswerState>

/** Maximum number of forms of a user whose answers are kept. Those that were begun first are dropped. */
export const MAX_ANSWERED_FORMS = 100
/** A content has at most as many bytes, and so have the ids of its elements and options. */
export const MAX_ANSWER_STATE_BYTES = 65_536

export const NO_ANSWERS: AnswerStates = new Map()

/**
 * Applies an answer. `states` must contain every form of the user. Returns the same object if nothing changes: the offer was ended
 * before, or the key of the answers is destroyed. Other states keep their identity.
 */
export function applyAnswer(states: AnswerStates, fact: AnswerGiven): AnswerStates {
  if (isClosed(fact)) return states
  const before = states.get(fact.formId)
  const after = nextState(before, fact)
  if (after === before) return states
  return withinLimit(new Map(states).set(fact.formId, after), fact.formId)
}

/** Returns true for an answer whose sealed members were not opened, whatever its type says. */
export function isClosed(fact: AnswerGiven): boolean {
  return 'sealed' in fact
}

/** A finished answer has the complete set of answers. Others add to the answers of the same offer. */
function nextState(state: AnswerState | undefined, fact: AnswerGiven): AnswerState {
  const { offerId, status, received } = fact
  const at = Date.parse(received)
  const same = state?.offerId === offerId ? state : undefined
  if (same?.endedAt !== undefined) return same
  return {
    offerId,
    status,
    startedAt: same?.startedAt ?? at,
    endedAt: status === 'partial' ? undefined : at,
    finishedAt: status === 'finished' ? at : state?.finishedAt,
    answers: merged(status === 'finished' ? new Map() : (same?.answers ?? new Map()), keptAnswers(fact)),
  }
}

/** Merges answers. Answers under several revisions may have more elements than a content: the latest are kept. */
function merged(before: AnswerState['answers'], added: AnswerState['answers']): AnswerState['answers'] {
  return new Map([...new Map([...before, ...added])].slice(-MAX_ELEMENTS))
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

function withinLimit(states: Map<string, AnswerState>, latest: string): AnswerStates {
  if (states.size <= MAX_ANSWERED_FORMS) return states
  const [oldest] = [...states]
    .filter(([formId]) => formId !== latest)
    .toSorted(([id, one], [otherId, other]) => one.startedAt - other.startedAt || (id < otherId ? -1 : 1))
  if (oldest) states.delete(oldest[0])
  return states
}

/** Returns the states of `after` that differ from `before`, and the forms that it lacks. */
export function changedAnswers(before: AnswerStates, after: AnswerStates) {
  if (before === after) return { written: [], dropped: [] }
  return {
    written: [...after].filter(([formId, state]) => before.get(formId) !== state),
    dropped: [...before.keys()].filter((formId) => !after.has(formId)),
  }
}

/** A state as a row has it: instants in ISO, the answers in JSON. */
export interface StoredAnswers {
  readonly offerId: string
  readonly status: string
  readonly startedAt: string
  readonly endedAt: string | null
  readonly finishedAt: string | null
  readonly answers: string
}

export function storedAnswersOf({ startedAt, endedAt, finishedAt, answers, ...state }: AnswerState): StoredAnswers {
  return {
    ...state,
    startedAt: isoInstant(startedAt),
    endedAt: endedAt === undefined ? null : isoInstant(endedAt),
    finishedAt: finishedAt === undefined ? null : isoInstant(finishedAt),
    answers: JSON.stringify(Object.fromEntries(answers)),
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
}: StoredAnswers): AnswerState {
  return {
    offerId,
    status: status as AnswerStatus,
    startedAt: Date.parse(startedAt),
    endedAt: endedAt === null ? undefined : Date.parse(endedAt),
    finishedAt: finishedAt === null ? undefined : Date.parse(finishedAt),
    answers: new Map(Object.entries(JSON.parse(answers) as Readonly<Record<string, TraitValue>>)),
  }
}
