import type { CatalogProject } from '@nextvisit/catalog'
import type { FormContent } from '@nextvisit/contracts'
import { languageFor, localizedContent } from '@nextvisit/domain'
import type { Answer } from '../api-routes.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, type ApiResult, refuseWithoutLog } from '../http/api-route.ts'

/** The content of a form, and the revision that it begins with. */
export interface CurrentContent {
  readonly revision: number
  readonly content: FormContent
}

const NO_CONTENTS = refuseWithoutLog('The content of the form')

/** Reads the current content of a form. undefined: it has none, is not in the workspace, or has a content of a later version. */
export function createReadContent(contents: Dependencies['contents']) {
  return async (project: CatalogProject, formId: string): Promise<ApiResult<CurrentContent | undefined>> => {
    const ref = project.config.forms.find(({ id }) => id === formId)?.content
    if (!ref) return answered(undefined)
    const known = await contents().catch(() => undefined)
    if (!known) return NO_CONTENTS
    const content = known.formContent(project, formId, ref.revision)
    return answered(content && { revision: ref.revision, content })
  }
}

/** Returns a content in a language, or in the one that a user with this language gets. */
export function contentIn(
  { revision, content }: CurrentContent,
  wanted: string | undefined,
): NonNullable<Answer<'readFormContent'>['content']> {
  const language = languageFor(content, [wanted])
  return { revision, languages: content.languages, language, localized: localizedContent(content, language) }
}
