import { countedOf, valuesAnAnswer } from './offer-answers.ts'
import type { Offer } from './offer-rows.ts'

/** Columns after those of the form: the value comes last. */
export const OF_ELEMENT = ['day', 'language', 'element', 'type', 'partition'] as const
/** Parts of a key before the value. */
const ELEMENT_PARTS = 4 + OF_ELEMENT.length

type Key = readonly (string | number)[]

/** Returns the key of an element's counts, without a value. */
export function placeOf(offer: Offer, startedAt: string, element: string, type: string): Key {
  const { organization, project, formId, environment, language, partition } = offer
  return [organization, project, formId, environment, dayOf(startedAt), language ?? '', element, type, partition]
}

/** Adds an offer to the counts of elements. Elements of answers that cannot be read are unknown. */
export function countElements(offer: Offer, counter: Counter, unknown: Set<string>): void {
  const { startedAt, answers } = offer
  if (startedAt === null) return
  if (!answers.values)
    for (const [element, type] of answers.types) unknown.add(keyOf(placeOf(offer, startedAt, element, type)))
  for (const [element, type, value] of countedOf(answers))
    counter.add([...placeOf(offer, startedAt, element, type), value])
}

/** Returns the key of an element's counts in a key with a value. */
export function elementIn(key: string): string {
  return key.split('/', ELEMENT_PARTS).join('/')
}

export function erasedCells(key: string, answers: number) {
  const each = valuesAnAnswer(key.split('/').at(-2) ?? '')
  return { answers, ...(each !== undefined && { values: each * answers }) }
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

type Counter = ReturnType<typeof createCounter>

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

export function dayOf(instant: string): string {
  return instant.slice(0, 'yyyy-mm-dd'.length)
}
