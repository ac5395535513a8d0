import { countedOf, valuesAnAnswer } from './offer-answers.ts'
import type { Offer } from './offer-rows.ts'

/** Columns after those of the form: the value comes last. */
export const OF_ELEMENT = ['language', 'element', 'type', 'partition'] as const
export const OF_ELEMENT_DAY = ['day', ...OF_ELEMENT] as const
/** Columns of a form. */
const OF_FORM = 4

type Key = readonly (string | number)[]

/** Places of an element of an offer in its two counters: over all days, and by day. They have no value. */
interface ElementPlaces {
  readonly whole: Key
  readonly day: Key
}

/** Returns the places of an element in its counters. */
export function placesOf(offer: Offer, startedAt: string, element: string, type: string): ElementPlaces {
  const { organization, project, formId, environment, language, partition } = offer
  const form = [organization, project, formId, environment]
  const own = [language ?? '', element, type, partition]
  return { whole: [...form, ...own], day: [...form, dayOf(startedAt), ...own] }
}

/** Counters of one kind: over all days, and by day. */
export interface CounterPair {
  readonly whole: Counter
  readonly day: Counter
}

/** Adds an offer to the counts of elements. Elements of answers that cannot be read are unknown. */
export function countElements(offer: Offer, counters: CounterPair, unknown: Set<string>): void {
  const { startedAt, answers } = offer
  if (startedAt === null) return
  if (!answers.values) {
    for (const [element, type] of answers.types)
      for (const place of Object.values(placesOf(offer, startedAt, element, type))) unknown.add(keyOf(place))
  }
  for (const [element, type, value] of countedOf(answers)) {
    const { whole, day } = placesOf(offer, startedAt, element, type)
    counters.whole.add([...whole, value])
    counters.day.add([...day, value])
  }
}

/** Returns the key of an element's counts in a key with a value. `columns`: {@link OF_ELEMENT}, or those of a day. */
export function elementIn(key: string, columns: readonly string[]): string {
  return key.split('/', OF_FORM + columns.length).join('/')
}

export function erasedCells(key: string, answers: number) {
  const each = valuesAnAnswer(key.split('/').at(-2) ?? '')
  return { answers, ...(each !== undefined && { values: each * answers }) }
}

/** Seconds of each row that a time to answer counts in. */
const SPANS = [1, 64, 4_096, 262_144]

/** Returns, for each span, the span and the beginning of the one that contains a time. */
export function spansOf(seconds: number): readonly (readonly [span: number, from: number])[] {
  return SPANS.map((span) => [span, seconds - (seconds % span)])
}

export interface CounterRow {
  readonly key: Key
}

export function keyColumns(columns: readonly string[]): string {
  return `jsonb_build_array(organization, project, form_id, environment, ${columns.join(', ')})`
}

export function keyOf(key: Key): string {
  return key.join('/')
}

export type Counter = ReturnType<typeof createCounter>

export function createCounter() {
  const counts = new Map<string, { count: number }>()
  return {
    add: (parts: Key): void => {
      const key = keyOf(parts)
      counts.set(key, { count: (counts.get(key)?.count ?? 0) + 1 })
    },
    counts: () => counts,
  }
}

export function createCounterPair(): CounterPair {
  return { whole: createCounter(), day: createCounter() }
}

export function dayOf(instant: string): string {
  return instant.slice(0, 'yyyy-mm-dd'.length)
}
