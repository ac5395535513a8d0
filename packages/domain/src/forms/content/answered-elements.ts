import type { AnsweredElements, Answers, FormContent } from '@nextvisit/contracts'

/** Returns the elements that these answers answer, with their types. The answers must fit the content. */
export function answeredElements({ elements }: FormContent, answers: Answers): AnsweredElements {
  const answered = elements.flatMap(({ id, type }) =>
    type !== 'link' && Object.hasOwn(answers, id) ? [[id, type] as const] : [],
  )
  return Object.fromEntries(answered)
}
