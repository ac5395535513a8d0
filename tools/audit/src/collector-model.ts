import { compareRows } from './compare-rows.ts'
import { keyTimeMs } from './erasures.ts'
import { type FormAnswered, type FormFact, type QueueErased, userKey, userKeyIn } from './facts.ts'
import { createRepeatCheck } from './duplicates.ts'
import type { Findings } from './findings.ts'
import { OF_RANGE, type UserRange } from './model.ts'
import { withAnswer } from './offer-answers.ts'
import {
  countElements,
  type Counter,
  createCounterPair,
  type CounterRow,
  dayOf,
  elementIn,
  erasedCells,
  keyColumns,
  keyOf,
  OF_ELEMENT,
  OF_ELEMENT_DAY,
  placesOf,
  spansOf,
} from './offer-counts.ts'
import {
  deliveredOffer,
  type Offer,
  OF_ANSWERS,
  offerCells,
  queuedOffer,
  storedCells,
  type StoredOffer,
} from './offer-rows.ts'
import type { Snapshot } from './snapshot.ts'

interface CollectedFact {
  /** Partition of `form-events`. */
  readonly partition: number
  /** True if it was a dead letter and folded later, at an unknown time. */
  readonly isLate: boolean
  /** The opened answers of a recorded answer; undefined: none, or their key is destroyed. */
  readonly given: Readonly<Record<string, unknown>> | undefined
}

/** Recomputes all tables of the answer-collector from the records that it has folded, in the order of `form-events`. */
interface CollectorModel {
  /** Folds a record of a user of this pass. */
  readonly fold: (fact: FormFact | QueueErased, how: CollectedFact) => void
  /** Compares the offers of the users of this pass, and drops them. */
  readonly compareUsers: (snapshot: Snapshot, range: UserRange, findings: Findings) => Promise<void>
  /** Compares the counters, after the last pass. */
  readonly compareShared: (snapshot: Snapshot, findings: Findings) => Promise<void>
}

/** The environment and the language that a step counts in. */
interface CountedIn {
  readonly environment: 'P' | 'T'
  readonly language?: string | null | undefined
}

const MAX_SECONDS = 2 ** 31 - 1

export function createCollectorModel(): CollectorModel {
  const offers = new Map<string, Map<string, Offer>>()
  /** Last erasures by user. */
  const erasures = new Map<string, QueueErased>()
  let isRepeat = createRepeatCheck()
  let repeatedErasures = new Set<string>()
  let unmatched = new Set<string>()
  const unordered = new Set<string>()

  const funnels = createCounterPair()
  const times = createCounterPair()
  const elements = createCounterPair()
  /** Answered elements of erased users. Their values cannot be read again. */
  const erasedElements = createCounterPair()
  /** Forms with records that were folded at an unknown time. */
  const unknownForms = new Set<string>()
  /** Elements with answers that cannot be read. */
  const unknownElements = new Set<string>()

  const countStep = (
    { organization, project, formId, at }: FormFact,
    partition: number,
    step: string,
    { environment, language }: CountedIn,
  ): void => {
    const form = [organization, project, formId, environment]
    funnels.whole.add([...form, language ?? '', step, partition])
    funnels.day.add([...form, dayOf(at), language ?? '', step, partition])
  }

  const offerOf = (fact: FormFact): Offer | undefined => offers.get(userKey(fact))?.get(fact.queuedId)
  const put = (fact: FormFact, offer: Offer): void => {
    const key = userKey(fact)
    offers.set(key, (offers.get(key) ?? new Map<string, Offer>()).set(fact.queuedId, offer))
  }

  const answer = (fact: FormAnswered, { partition, given }: CollectedFact): void => {
    const { id, organization, project, at, status, outcome, revision, environment } = fact
    if (outcome === 'unmatched') countStep(fact, partition, 'unmatched', fact)
    const before = outcome === 'recorded' ? offerOf(fact) : undefined
    if (!before || before.endedAt !== null) return
    const starts = before.startedAt === null && Object.keys(fact.elements).length > 0
    const language = fact.language ?? before.language
    put(fact, {
      ...before,
      ...(starts && { startedAt: at, answerId: id }),
      environment,
      language,
      revision,
      status,
      endedAt: status === 'partial' ? null : at,
      answers: withAnswer(before.answers, fact, given),
    })
    if (starts) countStep(fact, partition, 'started', { environment, language })
    if (status === 'partial') return
    countStep(fact, partition, status, { environment, language })
    if (status === 'dismissed' || before.deliveredAt === null) return
    const took = Math.floor((Date.parse(at) - Date.parse(before.deliveredAt)) / 1_000)
    const form = [organization, project, before.formId, environment]
    for (const [span, from] of spansOf(Math.min(Math.max(took, 0), MAX_SECONDS))) {
      times.whole.add([...form, language ?? '', span, from, partition])
      times.day.add([...form, dayOf(at), language ?? '', span, from, partition])
    }
  }

  /** An erasure deletes the offers of its user. Its first copy counts. */
  const erase = (fact: QueueErased): void => {
    if (repeatedErasures.has(fact.id)) return
    repeatedErasures.add(fact.id)
    const key = userKey(fact)
    for (const offer of offers.get(key)?.values() ?? []) {
      const { startedAt, answers } = offer
      if (startedAt === null) continue
      for (const [element, type] of answers.types) {
        const { whole, day } = placesOf(offer, startedAt, element, type)
        erasedElements.whole.add(whole)
        erasedElements.day.add(day)
      }
    }
    offers.delete(key)
    erasures.set(key, fact)
  }

  /** Returns whether the last erasure before a record covers it all the same. */
  const isCovered = (fact: FormFact): boolean => {
    const erasure = erasures.get(userKey(fact))
    if (!erasure) return false
    if (fact.type === 'FormAnswered') return keyTimeMs(fact.sealed.key) <= Date.parse(erasure.keysUntil)
    if (fact.type !== 'FormQueued') return false
    return (fact.causeOffset ?? Infinity) < (erasure.causeOffset ?? -Infinity)
  }

  /**
   * Returns whether an answer was folded before. Copies of an unmatched one are dropped at any time. `at` is the instant of the answer, so
   * an unmatched one repeats one that was recorded.
   */
  const isCopy = ({ id, outcome, at }: FormAnswered, partition: number): boolean => {
    if (unmatched.has(id) || isRepeat(partition, id, Date.parse(at))) return true
    if (outcome === 'unmatched') unmatched.add(id)
    return false
  }

  const isOfUnknown = (key: string): boolean => unknownForms.has(key.split('/', 3).join('/'))

  return {
    fold: (fact, how) => {
      if (fact.type === 'QueueErased') return erase(fact)
      if (how.isLate) {
        unordered.add(userKey(fact))
        unknownForms.add(`${fact.organization}/${fact.project}/${fact.formId}`)
      }
      if (fact.type === 'FormAnswered' && isCopy(fact, how.partition)) return
      if (isCovered(fact)) return
      if (fact.type === 'FormAnswered') return answer(fact, how)
      const before = offerOf(fact)
      if (fact.type === 'FormQueued' && !before) {
        put(fact, queuedOffer(fact, how.partition))
        countStep(fact, how.partition, 'queued', { environment: fact.environment })
      }
      if (fact.type === 'FormDelivered' && before?.deliveredAt === null) {
        put(fact, deliveredOffer(before, fact))
        countStep(fact, how.partition, 'delivered', fact)
      }
      if (fact.type === 'FormExpired' && before?.expiredAt === null) {
        put(fact, { ...before, expiredAt: fact.at })
        countStep(fact, how.partition, 'expired', { environment: before.environment })
      }
    },

    compareUsers: async (snapshot, { first, last }, findings) => {
      const expected = new Map<string, Offer>()
      const unreadable = new Set<string>()
      for (const [user, rows] of offers) {
        for (const [id, offer] of rows) {
          const key = `${user}/${id}`
          expected.set(key, offer)
          if (!offer.answers.values) unreadable.add(key)
          countElements(offer, elements, unknownElements)
        }
      }
      await compareRows({
        table: 'answers.offers',
        expected,
        cellsOf: offerCells,
        rows: snapshot.rows<StoredOffer>(
          `SELECT organization, project, user_id AS "userId", id, form_id AS "formId", environment, language, revision,
             cause_id AS "causeId", queued_at AS "queuedAt", delivered_at AS "deliveredAt", expired_at AS "expiredAt",
             started_at AS "startedAt", answer_id AS "answerId", ended_at AS "endedAt", status, answers::text AS answers,
             answer_bytes AS "answerBytes", counted::text AS counted
           FROM offers ${OF_RANGE}`,
          [first, last],
        ),
        keyOf: (row) => `${userKey(row)}/${row.id}`,
        foundIn: storedCells,
        isUnknowable: (key, column) => unreadable.has(key) && OF_ANSWERS.has(column),
        isSkipped: (key) => unordered.has(userKeyIn(key)),
        findings,
      })
      for (const each of [offers, erasures, unordered]) each.clear()
      isRepeat = createRepeatCheck()
      repeatedErasures = new Set()
      unmatched = new Set()
    },

    compareShared: async ({ rows }, findings) => {
      const compareCounts = (
        table: string,
        counter: Counter,
        columns: readonly string[],
        /** Columns of an element: its values may be unknown, and are not shown. */
        ofElement?: readonly string[],
      ) =>
        compareRows({
          table: `answers.${table}`,
          expected: counter.counts(),
          rows: rows<CounterRow>(`SELECT ${keyColumns(columns)} AS key, count FROM ${table}`),
          keyOf: ({ key }) => keyOf(key),
          isSkipped: (key) =>
            isOfUnknown(key) || (ofElement !== undefined && unknownElements.has(elementIn(key, ofElement))),
          aboutOf: (key) => (ofElement ? elementIn(key, ofElement) : key),
          findings,
        })
      const compareErased = (table: string, counter: Counter, columns: readonly string[]) =>
        compareRows({
          table: `answers.${table}`,
          expected: new Map([...counter.counts()].map(([key, { count }]) => [key, erasedCells(key, count)])),
          rows: rows<CounterRow & { readonly answers: number; readonly values: number }>(
            `SELECT ${keyColumns(columns)} AS key,
             coalesce(sum(count) FILTER (WHERE value = ''), 0)::bigint AS answers,
             coalesce(sum(count) FILTER (WHERE value <> ''), 0)::bigint AS values
           FROM ${table} GROUP BY key`,
          ),
          keyOf: ({ key }) => keyOf(key),
          isSkipped: isOfUnknown,
          findings,
        })
      const [ofStep, ofTime] = [
        ['language', 'step', 'partition'],
        ['language', 'span', 'seconds', 'partition'],
      ]
      await compareCounts('funnels', funnels.whole, ofStep)
      await compareCounts('funnel_days', funnels.day, ['day', ...ofStep])
      await compareCounts('answer_times', times.whole, ofTime)
      await compareCounts('answer_time_days', times.day, ['day', ...ofTime])
      await compareCounts('elements', elements.whole, [...OF_ELEMENT, 'value'], OF_ELEMENT)
      await compareCounts('element_days', elements.day, [...OF_ELEMENT_DAY, 'value'], OF_ELEMENT_DAY)
      await compareErased('erased_elements', erasedElements.whole, OF_ELEMENT)
      await compareErased('erased_element_days', erasedElements.day, OF_ELEMENT_DAY)
    },
  }
}
