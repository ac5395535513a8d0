import type { CatalogProject, CatalogView } from '@nextvisit/catalog'
import type { DeliveredForm, VisitOffer } from '@nextvisit/contracts'
import { languageFor, localizedContent } from '@nextvisit/domain'
import type { Logger } from '@nextvisit/service-kit'
import { LRUCache } from 'lru-cache'
import type { Answer } from '../http/route.ts'

interface FormDeliveryParts {
  readonly catalog: Pick<CatalogView, 'formContent'>
  readonly logger: Pick<Logger, 'warn'>
  /** A monotonic clock in ms. Default: `performance.now`. */
  readonly nowMs?: () => number
}

/** Maximum size of the cached texts, in UTF-16 units: one of each of 250 forms of the largest size. */
const MAX_CACHED_TEXT = 16_777_216
/** Maximum number of contents whose languages are cached. */
const MAX_CACHED_LANGUAGES = 10_000
const WARN_EVERY_MS = 60_000

export type FormDelivery = ReturnType<typeof createFormDelivery>

/**
 * Delivers the content of an offered form with the answer to a visit (forms.md, Content). An answer, and so a kept one, has a
 * reference: the content of a revision never changes. Its JSON is cached, so that a visit serializes no content.
 */
export function createFormDelivery({ catalog, logger, nowMs = () => performance.now() }: FormDeliveryParts) {
  const languages = new LRUCache<string, string[]>({ max: MAX_CACHED_LANGUAGES })
  const texts = new LRUCache<string, string>({ maxSize: MAX_CACHED_TEXT, sizeCalculation: (text) => text.length })
  let warnedAtMs: number | undefined

  function contentOf(project: CatalogProject, formId: string, revision: number) {
    const content = catalog.formContent(project, formId, revision)
    if (!content) warn(project, formId, revision)
    return content
  }

  /** Returns the languages of a content, the default first. undefined: this gateway has no such content. */
  function languagesOf(project: CatalogProject, formId: string, revision: number): string[] | undefined {
    const key = keyOf(project, formId, revision)
    const known = languages.get(key) ?? contentOf(project, formId, revision)?.languages
    if (known) languages.set(key, known)
    return known
  }

  /** Returns the JSON of a content in one of its languages. undefined: this gateway has no such content. */
  function textOf(project: CatalogProject, formId: string, revision: number, language: string): string | undefined {
    const key = `${keyOf(project, formId, revision)}/${language}`
    const known = texts.get(key)
    if (known !== undefined) return known
    const content = contentOf(project, formId, revision)
    if (!content) return undefined
    const text = JSON.stringify(localizedContent(content, language))
    texts.set(key, text)
    return text
  }

  function warn({ organization, project }: CatalogProject, formId: string, revision: number): void {
    const atMs = nowMs()
    if (warnedAtMs !== undefined && atMs - warnedAtMs < WARN_EVERY_MS) return
    warnedAtMs = atMs
    logger.warn(
      { organization, project, formId, revision },
      'A form is delivered without its content, which this gateway does not have or does not understand',
    )
  }

  return {
    /** Returns the form that a visit gets, with the revision and language of its content, if it has one. */
    formOf: (
      project: CatalogProject,
      { queuedId: offerId, formId, languages: preferred }: VisitOffer,
    ): DeliveredForm => {
      const content = project.config.forms.find(({ id }) => id === formId)?.content
      const known = content && languagesOf(project, formId, content.revision)
      if (!known) return { offerId, formId }
      return { offerId, formId, revision: content.revision, language: languageFor({ languages: known }, preferred) }
    },
    /** Adds the form of an answer, with its content, to the text of the answer. */
    withForm: (answer: Answer, project: CatalogProject): Answer => {
      const { form, body } = answer
      if (!form) return answer
      const { offerId, formId, revision, language } = form
      const content =
        revision === undefined || language === undefined ? undefined : textOf(project, formId, revision, language)
      if (content === undefined)
        return { ...answer, text: JSON.stringify({ ...body, nextFeedback: { offerId, formId } }) }
      const withoutContent = JSON.stringify({ ...body, nextFeedback: { offerId, formId, revision, language } })
      return { ...answer, text: `${withoutContent.slice(0, -'}}'.length)},"content":${content}}}` }
    },
  }
}

function keyOf({ organization, project }: CatalogProject, formId: string, revision: number): string {
  return `${organization}/${project}/${formId}/${revision}`
}
