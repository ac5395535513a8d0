import type { Answers, FormContent, QuestionElement } from '@nextvisit/contracts/shown-form'
import { h } from './dom.ts'
import { faultOf, invalidity } from './faults.ts'
import { createField, createLink, type Field } from './fields.ts'
import { shownIds } from './show-if.ts'
import type { Words } from './words.ts'

interface FormViewParts {
  readonly content: FormContent
  readonly words: Words
  /** The answers so far. */
  readonly answers: Answers
  /** Called at each change, with all answers, also those of hidden elements and invalid ones. */
  readonly onInput: (answers: Answers) => void
  /** Called after each answered element, with the valid answers of shown elements. */
  readonly onAnswer: (answers: Answers) => void
  /** Called with the complete answers. Rejects if they were not sent. */
  readonly onSubmit: (answers: Answers) => Promise<void>
}

/** The questions of a form. */
export interface FormView {
  readonly node: HTMLFormElement
  /** Returns the valid answers of shown elements. */
  readonly answers: () => Answers
}

interface Placed {
  readonly element: QuestionElement
  readonly field: Field
}

export function createFormView({ content, words, answers, onInput, onAnswer, onSubmit }: FormViewParts): FormView {
  const { title, elements } = content
  const placed: Placed[] = []
  const nodes = new Map<string, HTMLElement>()
  for (const element of elements) {
    if (element.type === 'link') nodes.set(element.id, createLink(element, words))
    else {
      const given = Object.hasOwn(answers, element.id) ? answers[element.id] : undefined
      const field = createField(element, given, words, title)
      // A type of a later version has no field.
      if (!field) continue
      placed.push({ element, field })
      nodes.set(element.id, field.node)
    }
  }
  const failure = h('p', { class: 'fault', role: 'alert' })
  const button = h('button', { type: 'submit' }, words.send)
  const heading = title === undefined ? undefined : h('h2', {}, title)
  const node = h('form', { novalidate: true }, heading, ...nodes.values(), failure, button)
  const seen = new Set<Placed>()
  let isSending = false

  function allAnswers(): Answers {
    const all = placed.map(({ element, field }) => [element.id, field.read()] as const)
    return Object.fromEntries(all.filter(([, answer]) => answer !== undefined)) as Answers
  }

  function shownWith(all: Answers): readonly Placed[] {
    const ids = shownIds(elements, all)
    return placed.filter(({ element }) => ids.has(element.id))
  }

  function validAnswers(): Answers {
    const all = allAnswers()
    const valid = shownWith(all).filter(({ element: { id } }) => Object.hasOwn(all, id))
    return Object.fromEntries(
      valid.flatMap(({ element }) =>
        invalidity(element, all[element.id], words) ? [] : [[element.id, all[element.id] as Answers[string]]],
      ),
    )
  }

  function showElements(all: Answers): void {
    const ids = shownIds(elements, all)
    for (const [id, one] of nodes) one.hidden = !ids.has(id)
  }

  /** Shows or removes the message of a changed field. Before the first one, only of answers that are invalid at any time. */
  function check(one: Placed): void {
    const { element, field } = one
    const message = (seen.has(one) ? faultOf : invalidity)(element, field.read(), words)
    field.showFault(message)
    if (message !== undefined) seen.add(one)
  }

  const changed = (event: Event) => placed.find(({ field }) => field.node.contains(event.target as Node))

  node.addEventListener('input', (event) => {
    const one = changed(event)
    if (one && seen.has(one)) check(one)
    const all = allAnswers()
    showElements(all)
    onInput(all)
  })
  node.addEventListener('change', (event) => {
    const one = changed(event)
    if (one && !isOwnTextPending(one)) check(one)
    onAnswer(validAnswers())
  })
  node.addEventListener('submit', (event) => {
    event.preventDefault()
    if (!isSending) void submit()
  })

  async function submit(): Promise<void> {
    const faulty = shownWith(allAnswers()).filter((one) => {
      const message = faultOf(one.element, one.field.read(), words)
      one.field.showFault(message)
      seen.add(one)
      return message !== undefined
    })
    failure.textContent = ''
    if (faulty[0]) return faulty[0].field.focus()
    setSending(true)
    try {
      await onSubmit(validAnswers())
    } catch (error) {
      setSending(false)
      failure.textContent = words.failed
      reportError(error)
    }
  }

  function setSending(value: boolean): void {
    isSending = value
    button.textContent = value ? words.sending : words.send
    // Not `disabled`, which would drop the focus.
    button.setAttribute('aria-disabled', String(value))
  }

  showElements(allAnswers())
  return { node, answers: validAnswers }
}

/** Returns whether the user has just chosen the option for a text of their own, and is about to write it. */
function isOwnTextPending({ field }: Placed): boolean {
  const own = field.node.querySelector<HTMLInputElement>('.own')
  return own !== null && !own.hidden && own.value === ''
}
