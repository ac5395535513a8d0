import type { ContentElement, ContentText, ElementResults, FormContent } from '@nextvisit/contracts'
import type { ShownElement } from './api.ts'

type Counted = ElementResults['distribution'][number]
type Value = Counted['value']

/** A value that can be chosen, in words. */
interface Choice {
  readonly value: Value
  readonly label: string
}

/**
 * Returns the results of the elements in the order of the current content, also of those without answers. Results of elements
 * that were removed, or had another type, follow without words.
 */
export function shownElements(results: readonly ElementResults[], content: FormContent | undefined): ShownElement[] {
  const asked = (content?.elements ?? []).filter(({ type }) => type !== 'link')
  const current = asked.map((element) => {
    const own = results.find((result) => isOf(result, element))
    return shownElement(own ?? noResults(element), element, content)
  })
  const others = results.filter((result) => !asked.some((element) => isOf(result, element)))
  return [...current, ...others.map((result) => shownElement(result, undefined, content))]
}

function isOf({ id, type }: ElementResults, element: ContentElement): boolean {
  return element.id === id && element.type === type
}

function noResults({ id, type }: ContentElement): ElementResults {
  return { id, type: type as ElementResults['type'], count: 0, distribution: [] }
}

function shownElement(
  result: ElementResults,
  element: ContentElement | undefined,
  content: FormContent | undefined,
): ShownElement {
  const counts = new Map(result.distribution.map(({ value, count }) => [value, count]))
  const choices = choicesOf(result, element, content)
  const unlisted = result.distribution.filter(({ value }) => !choices.some((choice) => choice.value === value))
  return {
    ...result,
    label: labelOf(element, content),
    distribution: [
      ...choices.map((choice) => ({ ...choice, count: counts.get(choice.value) ?? 0 })),
      ...unlisted.map((counted) => ({ ...counted, label: String(counted.value) })),
    ],
  }
}

function choicesOf(
  { type, distribution }: ElementResults,
  element: ContentElement | undefined,
  content: FormContent | undefined,
): readonly Choice[] {
  if (type === 'nps') return numbers(0, 10)
  if (type === 'consent') return CONSENT
  if (element?.type === 'rating') return numbers(1, element.scale)
  if (element?.type !== 'choice' && element?.type !== 'choices') return []
  const options = element.options.map(({ id, label }) => ({ value: id, label: inDefaultLanguage(label, content) }))
  const hasOther = element.other || distribution.some(({ value }) => value === OTHER.value)
  return hasOther && !options.some(({ value }) => value === OTHER.value) ? [...options, OTHER] : options
}

const CONSENT: readonly Choice[] = [
  { value: true, label: 'Yes' },
  { value: false, label: 'No' },
]
const OTHER: Choice = { value: 'other', label: 'Other, in their own words' }

function numbers(from: number, to: number): readonly Choice[] {
  return Array.from({ length: to - from + 1 }, (_, index) => ({ value: from + index, label: String(from + index) }))
}

/** Returns the label of an element in the default language of the form. */
export function labelOf(element: ContentElement | undefined, content: FormContent | undefined): string | null {
  return element?.label === undefined ? null : inDefaultLanguage(element.label, content)
}

/** Returns a text in the default language of the form. */
export function inDefaultLanguage(text: ContentText, content: FormContent | undefined): string {
  if (typeof text === 'string') return text
  const texts = new Map(Object.entries(text))
  return texts.get(content?.languages[0] ?? '') ?? [...texts.values()][0] ?? ''
}
