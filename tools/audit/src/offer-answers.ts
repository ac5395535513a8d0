import type { FormAnswered } from './facts.ts'

/** The answers of an offer so far. */
export interface OfferAnswers {
  /** By element; undefined: unknown, because the key of one is destroyed. */
  readonly values: ReadonlyMap<string, unknown> | undefined
  /** Types of the answered elements. These are in clear. */
  readonly types: ReadonlyMap<string, string>
}

export const NO_OFFER_ANSWERS: OfferAnswers = { values: new Map(), types: new Map() }

/** Above this size, in bytes, the latest answer counts alone (forms.md, Results). */
const MAX_BYTES = 256 * 1024

/**
 * Adds an answer: `finished` replaces all answers, the others replace those of their own elements. `given`: the opened answers;
 * undefined: their key is destroyed.
 */
export function withAnswer(
  before: OfferAnswers,
  { status, elements }: FormAnswered,
  given: Readonly<Record<string, unknown>> | undefined,
): OfferAnswers {
  const { values, types } = status === 'finished' ? NO_OFFER_ANSWERS : before
  if (!given) return { values: undefined, types: new Map([...types, ...Object.entries(elements)]) }
  const own = new Map(Object.entries(given))
  const ownTypes = Object.entries(elements).filter(([element]) => own.has(element))
  const kept = [...types].filter(([element]) => !own.has(element))
  const merged = values && new Map([...values, ...own])
  if (merged && bytesOf(merged) > MAX_BYTES) return { values: own, types: new Map(ownTypes) }
  return { values: merged, types: new Map([...kept, ...ownTypes]) }
}

/** Returns the size of answers as JSON, in bytes. */
export function bytesOf(values: ReadonlyMap<string, unknown>): number {
  return Buffer.byteLength(JSON.stringify(Object.fromEntries(values)))
}

export type CountedValue = readonly [element: string, type: string, value: string]

/** Returns what known answers count for: '' for each answered element, and each value that is not a text of the user. */
export function countedOf({ values, types }: OfferAnswers): readonly CountedValue[] {
  return [...types].flatMap(([element, type]) => {
    if (!values?.has(element)) return []
    const counted = new Set(['', ...valuesOf(type, values.get(element))])
    return [...counted].map((value): CountedValue => [element, type, value])
  })
}

/** Returns how many values each answer to an element of this type has; undefined: any number. */
export function valuesAnAnswer(type: string): 0 | 1 | undefined {
  return type === 'text' ? 0 : type === 'choices' ? undefined : 1
}

function valuesOf(type: string, given: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (type === 'nps' || type === 'rating') return typeof given === 'number' ? [`${given}`] : []
  if (type === 'consent') return typeof given === 'boolean' ? [`${given}`] : []
  return type === 'choice' || type === 'choices' ? all.flatMap(optionOf) : []
}

function optionOf(choice: unknown): readonly string[] {
  if (typeof choice === 'object' && choice !== null) return ['other']
  // Ids of options have up to 63 characters.
  return typeof choice === 'string' && choice !== '' && choice.length < 64 ? [choice] : []
}
