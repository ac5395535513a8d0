import type {
  Answer,
  ChoiceElement,
  ChoicesElement,
  ConsentElement,
  LinkElement,
  OtherAnswer,
  QuestionElement,
  TextElement,
} from '@nextvisit/contracts/shown-form'
import { h, setAttribute } from './dom.ts'
import { limitOf } from './faults.ts'
import type { Words } from './words.ts'

/** The part of a form that asks for one answer. */
export interface Field {
  readonly node: HTMLElement
  /** Returns the present answer; undefined: none. */
  readonly read: () => Answer | undefined
  /** Shows a message at the field, or removes it. */
  readonly showFault: (message: string | undefined) => void
  readonly focus: () => void
}

/** Id of the user's own text among the options. The ids of options cannot have it. */
const OTHER = '*'

/** Creates the field of a question. `answer` is its answer so far. `name` is its name if it has no label. */
export function createField(
  element: QuestionElement,
  answer: Answer | undefined,
  words: Words,
  name: string = words.answer,
): Field {
  switch (element.type) {
    case 'nps':
      return scaleField(element, 0, 10, answer, words, name)
    case 'rating':
      return scaleField(element, 1, element.scale, answer, words, name)
    case 'text':
      return textField(element, answer, words, name)
    case 'choice':
    case 'choices':
      return optionsField(element, answer, words, name)
    case 'consent':
      return consentField(element, answer, words)
  }
}

/** Creates a link. Only https is followed. */
export function createLink({ label, url }: LinkElement, words: Words): HTMLElement {
  const href = /^https:\/\//i.test(url) ? url : undefined
  return h(
    'p',
    { class: 'element' },
    h('a', { href, target: '_blank', rel: 'noopener noreferrer' }, label, hint(` (${words.newTab})`)),
  )
}

/** Returns a text that only screen readers show. */
const hint = (text: string) => h('span', { class: 'hint' }, text)

function requiredMark({ required }: QuestionElement, words: Words): Node | undefined {
  return required ? h('span', { class: 'required' }, ` (${words.required})`) : undefined
}

/** Adds the place of the message to a field. `described` are the nodes that are invalid with it. */
function fieldOf(
  id: string,
  node: HTMLElement,
  described: readonly HTMLElement[],
  read: Field['read'],
  firstInput: () => HTMLElement | undefined,
): Field {
  const fault = h('p', { class: 'fault', id: `fault-${id}`, hidden: true, 'aria-live': 'polite' })
  node.append(fault)
  return {
    node,
    read,
    showFault: (message) => {
      fault.textContent = message ?? ''
      fault.hidden = message === undefined
      for (const one of described) {
        setAttribute(one, 'aria-invalid', message === undefined ? undefined : 'true')
        setAttribute(one, 'aria-describedby', message === undefined ? undefined : fault.id)
      }
    },
    focus: () => firstInput()?.focus(),
  }
}

function textField(element: TextElement, answer: Answer | undefined, words: Words, name: string): Field {
  const { id, label } = element
  const input = h('textarea', {
    id: `input-${id}`,
    rows: 3,
    'aria-label': label === undefined ? name : undefined,
    'aria-required': element.required && 'true',
  })
  if (typeof answer === 'string') input.value = answer
  const mark = requiredMark(element, words)
  const heading = label !== undefined || mark ? h('label', { for: input.id }, label, mark) : undefined
  const node = h('div', { class: 'element' }, heading, input)
  return fieldOf(
    id,
    node,
    [input],
    () => (input.value.trim() === '' ? undefined : input.value),
    () => input,
  )
}

function consentField(element: ConsentElement, answer: Answer | undefined, words: Words): Field {
  const { id, label, required } = element
  if (required) return decisionField(element, answer, words)
  const input = h('input', { type: 'checkbox' })
  input.checked = answer === true
  // Never ticked is no answer; ticked and cleared is a no.
  let isAnswered = typeof answer === 'boolean'
  input.addEventListener('change', () => (isAnswered = true))
  const node = h('div', { class: 'element' }, optionLabel(input, label))
  return fieldOf(
    id,
    node,
    [input],
    () => (isAnswered ? input.checked : undefined),
    () => input,
  )
}

/** Creates the field of a required consent. Users must answer, and may refuse: one checkbox cannot tell this from no answer. */
function decisionField(element: ConsentElement, answer: Answer | undefined, words: Words): Field {
  const { id } = element
  const [yes, no] = [true, false].map((value) => {
    const input = h('input', { type: 'radio', name: id, value: String(value) })
    input.checked = answer === value
    return input
  }) as [HTMLInputElement, HTMLInputElement]
  const node = groupOf(element, words, element.label, true, optionLabel(yes, words.yes), optionLabel(no, words.no))
  return fieldOf(
    id,
    node,
    [node],
    () => (yes.checked || no.checked ? yes.checked : undefined),
    () => (no.checked ? no : yes),
  )
}

function optionLabel(input: HTMLInputElement, text: string | undefined): HTMLLabelElement {
  return h('label', { class: 'option' }, input, h('span', {}, text))
}

function groupOf(
  element: QuestionElement,
  words: Words,
  name: string,
  isRadioGroup: boolean,
  ...children: readonly (Node | undefined)[]
): HTMLFieldSetElement {
  const mark = requiredMark(element, words)
  const legend = element.label === undefined && !mark ? undefined : h('legend', {}, element.label, mark)
  return h(
    'fieldset',
    {
      class: 'element',
      role: isRadioGroup && 'radiogroup',
      'aria-label': element.label === undefined ? name : undefined,
      'aria-required': isRadioGroup && element.required && 'true',
    },
    legend,
    ...children,
  )
}

function scaleField(
  element: QuestionElement,
  from: number,
  to: number,
  answer: Answer | undefined,
  words: Words,
  name: string,
): Field {
  const { id, type } = element
  const inputs = Array.from({ length: to - from + 1 }, (_, index) => {
    const input = h('input', { type: 'radio', name: id, value: from + index })
    input.checked = answer === from + index
    return input
  })
  const points = inputs.map((input) => h('label', { class: 'point' }, input, h('span', {}, input.value)))
  const ends = type === 'nps' && h('p', { class: 'ends' }, h('span', {}, words.unlikely), h('span', {}, words.likely))
  const node = groupOf(element, words, name, true, h('div', { class: 'scale' }, ...points), ends || undefined)
  const checked = () => inputs.find((input) => input.checked)
  return fieldOf(
    id,
    node,
    [node],
    () => {
      const input = checked()
      return input && Number(input.value)
    },
    () => checked() ?? inputs[0],
  )
}

function optionsField(
  element: ChoiceElement | ChoicesElement,
  answer: Answer | undefined,
  words: Words,
  name: string,
): Field {
  const { id, type, options, other } = element
  const isOne = type === 'choice'
  const chosen: readonly unknown[] = Array.isArray(answer) ? answer : [answer]
  const ownText = chosen.find((item) => typeof item === 'object') as OtherAnswer | undefined
  const own = h('input', { type: 'text', class: 'own', 'aria-label': words.answer })
  own.value = ownText?.other ?? ''

  const all = other ? [...options, { id: OTHER, label: words.other }] : options
  const inputs = all.map((option) => {
    const input = h('input', { type: isOne ? 'radio' : 'checkbox', name: id, value: option.id })
    input.checked = option.id === OTHER ? ownText !== undefined : chosen.includes(option.id)
    return input
  })
  const labels = inputs.map((input, nth) => optionLabel(input, all[nth]?.label))
  const limitText = limitOf(element, words)
  const limit = limitText === undefined ? undefined : h('p', { class: 'limit', id: `limit-${id}` }, limitText)
  const node = groupOf(element, words, name, isOne, limit, ...labels, other ? own : undefined)
  setAttribute(node, 'aria-describedby', limit?.id)

  let isPointed = false
  const showOwn = () => (own.hidden = !inputs.at(-1)?.checked)
  node.addEventListener('pointerdown', () => (isPointed = true))
  node.addEventListener('keydown', () => (isPointed = false))
  node.addEventListener('change', ({ target }) => {
    showOwn()
    // Arrow keys choose options, too: they would never get past a field that takes the focus.
    if (other && isPointed && !own.hidden && target === inputs.at(-1)) own.focus()
  })
  showOwn()

  const read = (): Answer | undefined => {
    // An optional question may be left with an empty text: a chosen radio button cannot be cleared.
    const answers = inputs.flatMap(({ checked, value }) => {
      if (!checked || (value === OTHER && !element.required && own.value.trim() === '')) return []
      return value === OTHER ? { other: own.value } : value
    })
    return isOne ? answers[0] : answers.length > 0 ? answers : undefined
  }
  const firstInput = () => {
    const isTextMissing = other && !own.hidden && own.value.trim() === ''
    return isTextMissing ? own : (isOne && inputs.find(({ checked }) => checked)) || inputs[0]
  }
  return fieldOf(id, node, isOne ? [node] : inputs, read, firstInput)
}
