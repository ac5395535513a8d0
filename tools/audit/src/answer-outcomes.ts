import { type ClearAnswer, type FormAnswered, userKey } from './facts.ts'
import type { Findings } from './findings.ts'

/** Columns of a row of the queue about its answers. */
export interface RowAnswers {
  readonly answerStatus: ClearAnswer['status'] | null
  readonly startedAt: string | null
  readonly endedAt: string | null
}

export const NO_ANSWERS: RowAnswers = { answerStatus: null, startedAt: null, endedAt: null }

/** Compares the outcome of each answer with the answer and with its row (forms.md, Outcomes of answers). */
export function createAnswerOutcomes(findings: Findings) {
  const decided = new Set<string>()
  /** Outcomes whose answer must be in `user-events`. */
  const unseen = new Map<string, FormAnswered>()

  return {
    /** Takes an outcome in the order of `form-events`. Returns the answers of the row after it; `row`: before it, if there is one. */
    decide: (
      fact: FormAnswered,
      row: (RowAnswers & { readonly formId: string }) | undefined,
      { isKnown }: { readonly isKnown: boolean },
    ): RowAnswers => {
      const { id, at, outcome, status } = fact
      decided.add(`${id}/${at}`)
      unseen.set(`${id}/${at}`, fact)
      const expected = row?.formId !== fact.formId ? 'unmatched' : row.endedAt === null ? 'recorded' : 'late'
      if (isKnown && outcome !== expected)
        findings.add('form-events: outcome', aboutOf(fact), `answer ${id} is ${outcome} instead of ${expected}`)
      if (!row || expected !== 'recorded') return row ?? NO_ANSWERS
      const isStarted = Object.keys(fact.elements).length > 0
      return {
        answerStatus: status,
        startedAt: row.startedAt ?? (isStarted ? at : null),
        endedAt: status === 'partial' ? null : at,
      }
    },

    /** Receives any answer, folded or not. */
    see: (answer: ClearAnswer): void => {
      const name = `${answer.id}/${answer.received}`
      const outcome = unseen.get(name)
      if (!outcome) return
      unseen.delete(name)
      if (textOf({ ...outcome, offerId: outcome.queuedId }) !== textOf(answer))
        findings.add('form-events: answer', aboutOf(outcome), `the outcome of ${answer.id} differs from the answer`)
    },

    /** Receives each answer that the evaluator has folded. */
    expect: (answer: ClearAnswer): void => {
      if (!decided.has(`${answer.id}/${answer.received}`))
        findings.add('form-events: no outcome', `${userKey(answer)}/${answer.offerId}`, `of the answer ${answer.id}`)
    },

    end: (): void => {
      for (const outcome of unseen.values())
        findings.add('form-events: no answer', aboutOf(outcome), `no record of the answer ${outcome.id}`)
      decided.clear()
      unseen.clear()
    },
  }
}

function aboutOf(fact: FormAnswered): string {
  return `${userKey(fact)}/${fact.queuedId}`
}

/** Returns the members that an answer and its outcome share. */
function textOf(fact: Omit<ClearAnswer, 'type' | 'received' | 'source' | 'keyed'>): string {
  const { organization, project, userId, offerId, formId, status, revision, language, environment, elements } = fact
  const { key, bytes } = fact.sealed ?? {}
  const shared = [organization, project, userId, offerId, formId, status, revision, language, environment, key, bytes]
  const answered = Object.entries(elements).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify([...shared, answered])
}
