import { compareRows } from './compare-rows.ts'
import { type AnswerValue, type AnswerGiven, type UserRef, userKey, userKeyIn, type Value } from './facts.ts'
import type { Findings } from './findings.ts'
import { OF_RANGE, type UserRange } from './model.ts'
import type { Snapshot } from './snapshot.ts'

/** A user's answers to a form, as far as conditions read them (forms.md, Conditions on answers). */
export interface KeptAnswers {
  offerId: string
  status: string
  startedAt: string
  endedAt: string | null
  finishedAt: string | null
  answers: Map<string, Value>
  /** Offers that were begun before this one, the earliest first, and whether each has ended. */
  earlierOffers: Map<string, boolean>
}

/** By form. */
export type AnswersByForm = ReadonlyMap<string, KeptAnswers>

const MAX_FORMS = 1_000
const MAX_FORMS_WITH_ANSWERS = 100
const MAX_ELEMENTS = 50
const MAX_EARLIER_OFFERS = 20
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
      if (full.length > MAX_FORMS_WITH_ANSWERS) forms.get(firstBegun(full, fact.formId))?.answers.clear()
      if (forms.size > MAX_FORMS) forms.delete(firstBegun([...forms], fact.formId))
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
        cellsOf: ({ answers, earlierOffers, ...cells }) => ({
          ...cells,
          answers: JSON.stringify(Object.fromEntries(answers)),
          earlierOffers: JSON.stringify(Object.fromEntries(earlierOffers)),
        }),
        rows: rows<UserRef & { readonly formId: string }>(
          `SELECT organization, project, user_id AS "userId", form_id AS "formId", offer_id AS "offerId", status,
             started_at AS "startedAt", ended_at AS "endedAt", finished_at AS "finishedAt", answers::text,
             earlier_offers::text AS "earlierOffers"
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

/** Folds an answer. It changes nothing once the offer has ended, and of an earlier offer only the end counts. */
function give(forms: Map<string, KeptAnswers>, fact: AnswerGiven): void {
  const { formId, offerId, status, received } = fact
  const before = forms.get(formId)
  const isEarlier = before?.earlierOffers.has(offerId) ?? false
  if (before && isEarlier) return endEarlier(before, fact)
  const isSame = before?.offerId === offerId
  if (isSame && before.endedAt !== null) return
  const answers = new Map(isSame && status !== 'finished' ? before.answers : [])
  for (const [element, answer] of Object.entries(fact.answers)) {
    answers.delete(element)
    answers.set(element, keptOf(answer, new Map(Object.entries(fact.elements)).get(element)))
  }
  dropFirst(answers, MAX_ELEMENTS)
  const earlierOffers = new Map(before?.earlierOffers)
  if (before && !isSame) earlierOffers.set(before.offerId, before.endedAt !== null)
  dropFirst(earlierOffers, MAX_EARLIER_OFFERS)
  forms.set(formId, {
    offerId,
    status,
    startedAt: isSame ? before.startedAt : received,
    endedAt: status === 'partial' ? null : received,
    finishedAt: status === 'finished' ? received : (before?.finishedAt ?? null),
    answers,
    earlierOffers,
  })
}

function endEarlier(kept: KeptAnswers, { offerId, status, received }: AnswerGiven): void {
  const isOver = kept.earlierOffers.get(offerId) === true || status === 'partial'
  if (isOver) return
  kept.earlierOffers.set(offerId, true)
  if (status === 'finished') kept.finishedAt = received
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

/** Returns the form that was begun first, apart from the latest one. */
function firstBegun(forms: readonly (readonly [string, KeptAnswers])[], latest: string): string {
  const others = forms.filter(([formId]) => formId !== latest)
  const [first] = others.toSorted(([id, one], [otherId, other]) => {
    if (one.startedAt !== other.startedAt) return one.startedAt < other.startedAt ? -1 : 1
    return id < otherId ? -1 : 1
  })
  return first?.[0] ?? ''
}
