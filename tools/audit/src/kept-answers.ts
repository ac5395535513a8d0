import { compareRows } from './compare-rows.ts'
import { type AnswerValue, type AnswerGiven, type UserRef, userKey, userKeyIn, type Value } from './facts.ts'
import type { Findings } from './findings.ts'
import { OF_RANGE, type UserRange } from './model.ts'
import type { Snapshot } from './snapshot.ts'

/** A user's answers to a form, as far as conditions read them (forms.md, Conditions on answers). */
export interface KeptAnswers {
  offerId: string
  status: string
  keptSince: string
  endedAt: string | null
  answers: Map<string, Value>
  /** Other offers with an answer, the latest last, and whether each has ended. */
  otherOffers: Map<string, boolean>
}

/** By form. */
export type AnswersByForm = ReadonlyMap<string, KeptAnswers>

const MAX_FORMS = 1_000
const MAX_FORMS_WITH_ANSWERS = 100
const MAX_ELEMENTS = 50
const MAX_OTHER_OFFERS = 20
const NONE: AnswersByForm = new Map()

/** Creates the fold of the kept answers of users. */
export function createKeptAnswers() {
  const users = new Map<string, Map<string, KeptAnswers>>()
  return {
    of: (key: string): AnswersByForm => users.get(key) ?? NONE,

    give: (fact: AnswerGiven): void => {
      const key = userKey(fact)
      const forms = users.get(key) ?? new Map<string, KeptAnswers>()
      users.set(key, forms)
      give(forms, fact)
      const full = [...forms].filter(([, { answers }]) => answers.size > 0)
      if (full.length > MAX_FORMS_WITH_ANSWERS) forms.get(keptLongest(full, fact.formId))?.answers.clear()
      if (forms.size > MAX_FORMS) forms.delete(keptLongest([...forms], fact.formId))
    },

    /** Compares the rows of a schema, and drops the users. */
    compare: async (
      { service, rows }: Snapshot,
      { first, last }: UserRange,
      { isSkipped, findings }: { readonly isSkipped: (key: string) => boolean; readonly findings: Findings },
    ): Promise<void> => {
      const expected = [...users].flatMap(([key, forms]) =>
        Array.from(forms, ([formId, kept]) => [`${key}/${formId}`, kept] as const),
      )
      users.clear()
      await compareRows({
        table: `${service === 'user-projector' ? 'users' : 'forms'}.form_answers`,
        expected: new Map(expected),
        cellsOf: ({ answers, otherOffers, ...cells }) => ({
          ...cells,
          answers: JSON.stringify(Object.fromEntries(answers)),
          otherOffers: JSON.stringify(Object.fromEntries(otherOffers)),
        }),
        rows: rows<UserRef & { readonly formId: string }>(
          `SELECT organization, project, user_id AS "userId", form_id AS "formId", offer_id AS "offerId", status,
             kept_since AS "keptSince", ended_at AS "endedAt", answers::text, other_offers::text AS "otherOffers"
           FROM form_answers ${OF_RANGE}`,
          [first, last],
        ),
        keyOf: (row) => `${userKey(row)}/${row.formId}`,
        isSkipped: (key) => isSkipped(userKeyIn(key)),
        findings,
      })
    },
  }
}

/**
 * Folds an answer. It changes nothing once its offer has ended. A finished answer takes the place of the kept ones, and so does the first
 * answer to an offer while no offer of the form was finished.
 */
function give(forms: Map<string, KeptAnswers>, fact: AnswerGiven): void {
  const { formId, offerId, status, received } = fact
  const before = forms.get(formId)
  const isKept = before?.offerId === offerId
  const isOver = isKept ? before.endedAt !== null : before?.otherOffers.get(offerId)
  if (isOver) return
  const isFirst = !isKept && !before?.otherOffers.has(offerId)
  const takesPlace = status === 'finished' || (isFirst && before?.status !== 'finished')
  if (before && !isKept && !takesPlace) {
    before.otherOffers.set(offerId, status !== 'partial')
    return dropFirst(before.otherOffers, MAX_OTHER_OFFERS)
  }
  const answers = new Map(isKept && status !== 'finished' ? before.answers : [])
  for (const [element, answer] of Object.entries(fact.answers)) {
    answers.delete(element)
    answers.set(element, keptOf(answer, new Map(Object.entries(fact.elements)).get(element)))
  }
  dropFirst(answers, MAX_ELEMENTS)
  const otherOffers = new Map(before?.otherOffers)
  if (before && !isKept) {
    otherOffers.delete(offerId)
    otherOffers.set(before.offerId, before.endedAt !== null)
  }
  dropFirst(otherOffers, MAX_OTHER_OFFERS)
  forms.set(formId, {
    offerId,
    status,
    keptSince: isKept ? before.keptSince : received,
    endedAt: status === 'partial' ? null : received,
    answers,
    otherOffers,
  })
}

/** Returns when an offer of the form was finished last; null: none was. */
export function finishedAtOf(kept: KeptAnswers | undefined): string | null {
  return kept?.status === 'finished' ? kept.endedAt : null
}

/** Drops the first entries that are too many. */
function dropFirst(entries: Map<string, unknown>, atMost: number): void {
  for (const key of entries.keys()) if (entries.size > atMost) entries.delete(key)
}

/** Returns an answer without texts of the user: null in their place. */
function keptOf(answer: AnswerValue, type: string | undefined): Value {
  if (typeof answer === 'string') return type === 'choice' ? answer : null
  return comparedAnswer(answer)
}

/** Returns an answer as conditions compare it: null in place of a text that is no option. */
export function comparedAnswer(answer: AnswerValue): Value {
  if (typeof answer !== 'object') return answer
  if (!Array.isArray(answer)) return null
  return (answer as readonly unknown[]).map((one) => (typeof one === 'string' ? one : null))
}

/** Returns the form whose answers are kept for the longest time, apart from the latest one. */
function keptLongest(forms: readonly (readonly [string, KeptAnswers])[], latest: string): string {
  const others = forms.filter(([formId]) => formId !== latest)
  const [first] = others.toSorted(([id, one], [otherId, other]) => {
    if (one.keptSince !== other.keptSince) return one.keptSince < other.keptSince ? -1 : 1
    return id < otherId ? -1 : 1
  })
  return first?.[0] ?? ''
}
