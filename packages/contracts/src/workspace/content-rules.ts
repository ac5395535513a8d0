import type { FormAnswerLeaf, ValueOperator } from './condition.ts'
import type { AnswerCondition, AnswerLeaf, ContentElement, ContentShape, ContentText } from './content-shape.ts'

/** Maximum size of a content, in bytes of JSON. */
export const MAX_CONTENT_BYTES = 65_536

/** A fault of a content beyond the shapes of its members. */
interface ContentFault {
  readonly path: (string | number)[]
  readonly message: string
}

type Path = ContentFault['path']

/** Checks ids, languages, choices, conditions and the size of a content whose members have valid shapes. */
export function contentFaults(content: ContentShape): readonly ContentFault[] {
  return [
    ...repeated(content.languages, ['languages'], 'language'),
    ...repeated(
      content.elements.map(({ id }) => id),
      ['elements'],
      'element',
      'id',
    ),
    ...content.elements.flatMap((element, index) => elementFaults(element, ['elements', index])),
    ...textsOf(content).flatMap(({ text, path }) => languageFaults(content.languages, text, path)),
    ...conditionFaults(content.elements),
    ...cycleFaults(content.elements),
    ...sizeFaults(content),
  ]
}

/** Reports every repetition of an earlier name. Languages are compared ignoring case; ids have none. */
function repeated(names: readonly string[], list: Path, noun: string, member?: string): readonly ContentFault[] {
  const seen = new Set<string>()
  return names.flatMap((name, index) => {
    const isRepeated = seen.has(name.toLowerCase())
    seen.add(name.toLowerCase())
    const path = [...list, index, ...(member === undefined ? [] : [member])]
    return isRepeated ? [{ path, message: `${noun} ${name} is duplicated` }] : []
  })
}

function elementFaults(element: ContentElement, path: Path): readonly ContentFault[] {
  if (element.type !== 'choice' && element.type !== 'choices') return []
  const ids = element.options.map(({ id }) => id)
  return [
    ...repeated(ids, [...path, 'options'], 'option', 'id'),
    ...(element.type === 'choices' ? choicesFaults(element, path) : []),
  ]
}

function choicesFaults(
  { options, other, atLeast = 0, atMost }: Extract<ContentElement, { type: 'choices' }>,
  path: Path,
): readonly ContentFault[] {
  const max = options.length + (other ? 1 : 0)
  if (atMost !== undefined && atMost > max)
    return [{ path: [...path, 'atMost'], message: `must be at most ${max}, the number of options` }]
  if (atLeast > (atMost ?? max)) {
    const limit = atMost === undefined ? 'the number of options' : 'as atMost'
    return [{ path: [...path, 'atLeast'], message: `must be at most ${atMost ?? max}, ${limit}` }]
  }
  return []
}

interface PlacedText {
  readonly text: ContentText
  readonly path: Path
}

/** Returns every text of a content. */
function textsOf({ title, thanks, elements }: ContentShape): readonly PlacedText[] {
  return [
    ...placed(title, ['title']),
    ...elements.flatMap((element, index) => [
      ...placed(element.label, ['elements', index, 'label']),
      ...('options' in element ? element.options : []).flatMap(({ label }, nth) =>
        placed(label, ['elements', index, 'options', nth, 'label']),
      ),
    ]),
    ...placed(thanks, ['thanks']),
  ]
}

function placed(text: ContentText | undefined, path: Path): readonly PlacedText[] {
  return text === undefined ? [] : [{ text, path }]
}

/** Checks that a map of texts has exactly the languages of its form. A text for all languages has no faults. */
export function languageFaults(languages: readonly string[], text: ContentText, path: Path): readonly ContentFault[] {
  if (typeof text === 'string') return []
  const missing = languages.filter((language) => !Object.hasOwn(text, language) || text[language] === undefined)
  return [
    ...(missing.length > 0 ? [{ path, message: `lacks the text in ${missing.join(', ')}` }] : []),
    ...Object.keys(text).flatMap((name) =>
      languages.includes(name)
        ? []
        : [{ path: [...path, name], message: `is not in languages (${languages.join(', ')})` }],
    ),
  ]
}

interface PlacedLeaf {
  readonly leaf: AnswerLeaf
  readonly path: Path
}

/** Returns the leaves of a condition on answers, with their paths. */
function leavesOf(condition: AnswerCondition | undefined, path: Path): readonly PlacedLeaf[] {
  if (condition === undefined) return []
  if ('all' in condition) return condition.all.flatMap((inner, nth) => leavesOf(inner, [...path, 'all', nth]))
  if ('any' in condition) return condition.any.flatMap((inner, nth) => leavesOf(inner, [...path, 'any', nth]))
  if ('not' in condition) return leavesOf(condition.not, [...path, 'not'])
  return [{ leaf: condition, path }]
}

/** The operators that can apply to the answers of each type. */
const OPERATORS: { readonly [Type in ContentElement['type']]: readonly ValueOperator[] } = {
  nps: ['is', 'isNot', 'in', 'notIn', 'exists', 'atLeast', 'atMost', 'moreThan', 'lessThan'],
  rating: ['is', 'isNot', 'in', 'notIn', 'exists', 'atLeast', 'atMost', 'moreThan', 'lessThan'],
  text: ['is', 'isNot', 'in', 'notIn', 'contains', 'startsWith', 'exists'],
  choice: ['is', 'isNot', 'in', 'notIn', 'exists'],
  choices: ['contains', 'exists'],
  consent: ['is', 'isNot', 'exists'],
  link: [],
}

/** The type of the values that answers are compared with. */
const COMPARED: { readonly [Type in ContentElement['type']]: readonly [type: string, noun: string] } = {
  nps: ['number', 'a number'],
  rating: ['number', 'a number'],
  text: ['string', 'a text'],
  choice: ['string', 'the id of an option'],
  choices: ['string', 'the id of an option'],
  consent: ['boolean', 'true or false'],
  link: ['undefined', 'nothing'],
}

function conditionFaults(elements: readonly ContentElement[]): readonly ContentFault[] {
  return elements.flatMap(({ showIf }, index) => answerFaults(showIf, elements, ['elements', index, 'showIf']))
}

/** Checks a condition on the answers to a form with these elements. */
export function answerFaults(
  condition: AnswerCondition | undefined,
  elements: readonly ContentElement[],
  at: Path,
  form = 'this form',
): readonly ContentFault[] {
  const byId = new Map(elements.map((element) => [element.id, element]))
  return leavesOf(condition, at).flatMap(({ leaf: { answer, ...operators }, path }) => {
    const named = byId.get(answer)
    if (!named) return [{ path: [...path, 'answer'], message: `there is no element ${answer} in ${form}` }]
    if (named.type === 'link')
      return [{ path: [...path, 'answer'], message: `${answer} is a link, which has no answer` }]
    return operatorFaults(operators, named, path)
  })
}

/** Checks a condition on the kept answer to an element of a form: texts of the user are not kept. */
export function keptAnswerFaults(
  { answer: { form, element }, ...operators }: FormAnswerLeaf,
  elements: readonly ContentElement[],
  path: Path,
): readonly ContentFault[] {
  const named = elements.find(({ id }) => id === element)
  const place = [...path, 'answer', 'element']
  if (!named) return [{ path: place, message: `there is no element ${element} in form ${form}` }]
  if (named.type === 'link') return [{ path: place, message: `${element} is a link, which has no answer` }]
  return operatorFaults(operators, named, path, named.type === 'text' ? ['exists'] : OPERATORS[named.type])
}

function operatorFaults(
  operators: Omit<AnswerLeaf, 'answer'>,
  element: ContentElement,
  path: Path,
  known: readonly string[] = OPERATORS[element.type],
): readonly ContentFault[] {
  const { id, type } = element
  return Object.entries(operators).flatMap(([name, operand]): readonly ContentFault[] => {
    if (operand === undefined) return []
    const place = [...path, name]
    if (!known.includes(name))
      return [{ path: place, message: `cannot apply to ${id} (${type}): use ${known.join(', ')}` }]
    return name === 'exists' ? [] : operandFaults(operand, element, place, EQUALITIES.has(name))
  })
}

/** The operators that an answer must equal an operand of. */
const EQUALITIES: ReadonlySet<string> = new Set(['is', 'isNot', 'in', 'notIn'])

function operandFaults(
  operand: string | number | boolean | readonly unknown[],
  element: ContentElement,
  path: Path,
  isEquality: boolean,
): readonly ContentFault[] {
  if (typeof operand === 'object')
    return operand.flatMap((item, nth) => operandFaults(item as string, element, [...path, nth], isEquality))
  const [type, noun] = COMPARED[element.type]
  const asAnswers = `as the answers to ${element.id} (${element.type})`
  if (typeof operand !== type) return [{ path, message: `must be ${noun}, ${asAnswers}` }]
  const [min, max] = scaleOf(element)
  if (typeof operand === 'number' && (operand < min || operand > max || (isEquality && !Number.isInteger(operand)))) {
    return [{ path, message: `must be a ${isEquality ? 'whole ' : ''}number from ${min} to ${max}, ${asAnswers}` }]
  }
  if (!('options' in element) || element.options.some(({ id }) => id === operand)) return []
  return [{ path, message: `${element.id} has no option ${operand}` }]
}

function scaleOf(element: ContentElement): readonly [min: number, max: number] {
  return element.type === 'rating' ? [1, element.scale] : [0, 10]
}

/** Reports the elements that are shown depending on themselves, each cycle once. */
function cycleFaults(elements: readonly ContentElement[]): readonly ContentFault[] {
  const indexes = new Map(elements.map(({ id }, index) => [id, index]))
  const done = new Set<number>()
  const faults: ContentFault[] = []
  // Recursive: a content has at most 50 elements.
  const visit = (index: number, way: readonly number[]): void => {
    if (way.includes(index)) {
      const cycle = [...way.slice(way.indexOf(index)), index].map((one) => elements[one]?.id)
      const message = `element ${elements[index]?.id} depends on its own answer: ${cycle.join(' → ')}`
      faults.push({ path: ['elements', index, 'showIf'], message })
      return
    }
    if (done.has(index)) return
    const named = new Set(leavesOf(elements[index]?.showIf, []).map(({ leaf }) => leaf.answer))
    for (const id of named) {
      const next = indexes.get(id)
      if (next !== undefined) visit(next, [...way, index])
    }
    done.add(index)
  }
  for (const index of elements.keys()) visit(index, [])
  return faults
}

function sizeFaults(content: ContentShape): readonly ContentFault[] {
  const bytes = Buffer.byteLength(JSON.stringify(content))
  if (bytes <= MAX_CONTENT_BYTES) return []
  return [{ path: [], message: `has ${bytes} bytes as JSON; the maximum is ${MAX_CONTENT_BYTES}` }]
}
