import type { CatalogProject, CatalogView } from '@nextvisit/catalog'
import type { AnsweredElements, Answers, FormContent } from '@nextvisit/contracts'
import {
  ANSWER_RULES,
  type AnswerBody,
  answeredElements,
  checkAnswers,
  type JsonObject,
  parseAnswerBody,
  reject,
  type Rejection,
} from '@nextvisit/domain'

/** An answer that was checked against the content of the form. */
export interface CheckedAnswerBody extends Omit<AnswerBody, 'answers'> {
  readonly answers: Answers
  /** The answered elements, with their types. */
  readonly elements: AnsweredElements
}

type Catalog = Pick<CatalogView, 'formContent'>

/** Creates the parser of answers. It checks them against the content of the revision that the caller names, however old. */
export function createReadAnswer(catalog: Catalog) {
  return ({
    body,
    project,
  }: {
    readonly body: JsonObject
    readonly project: CatalogProject
  }): { readonly outcome: 'ok'; readonly value: CheckedAnswerBody } | Rejection => {
    const parsed = parseAnswerBody(body)
    if (parsed.outcome !== 'ok') return parsed
    const { formId, revision, language: given } = parsed.value
    const content = catalog.formContent(project, formId, revision)
    if (!content) return reject(ruleWithoutContent(project, parsed.value))
    const language = given === undefined ? undefined : languageOf(content, given)
    if (given !== undefined && language === undefined) return reject(ANSWER_RULES.answeredLanguage)
    const checked = checkAnswers(content, parsed.value)
    if (checked.outcome !== 'ok') return checked
    const { answers } = checked
    const elements = answeredElements(content, answers)
    return { outcome: 'ok', value: { ...parsed.value, language, answers, elements } }
  }
}

/** A content that the catalog refers to exists, but this gateway does not have it, or does not understand it. */
function ruleWithoutContent({ config }: CatalogProject, { formId, revision }: Pick<AnswerBody, 'formId' | 'revision'>) {
  const form = config.forms.find(({ id }) => id === formId)
  if (form?.content?.revision === revision) return ANSWER_RULES.answeredContent
  return form?.content ? ANSWER_RULES.answeredRevision : ANSWER_RULES.answeredForm
}

/** Returns a language of the content as the form writes it. */
function languageOf({ languages }: FormContent, given: string): string | undefined {
  const tag = given.toLowerCase()
  return languages.find((language) => language.toLowerCase() === tag)
}
