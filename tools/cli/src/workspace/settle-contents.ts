import type { RecordedContent } from '@nextvisit/catalog'
import type { Form, FormContentRef, OrganizationConfig } from '@nextvisit/contracts'

/** The content of a form in the workspace file. */
export type WantedContent = Omit<RecordedContent, 'revision'>

/** A configuration of an organization whose forms refer to their contents. */
interface SettledContents {
  readonly wanted: OrganizationConfig
  /** Every content that it refers to. */
  readonly contents: readonly RecordedContent[]
}

/**
 * Makes forms refer to their contents. An unchanged content keeps its revision; a new or changed one begins with `revision`,
 * the next one of the organization.
 */
export function settleContents(
  held: OrganizationConfig | null | undefined,
  wanted: OrganizationConfig,
  contents: readonly WantedContent[],
  revision: number,
): SettledContents {
  const before = new Map<string, FormContentRef | undefined>(
    held?.projects.flatMap(({ id, forms }) => forms.map((form) => [nameOf(id, form.id), form.content] as const)),
  )
  const settled = new Map(
    contents
      .filter(({ organization }) => organization === wanted.id)
      .map((content): [string, RecordedContent] => {
        const name = nameOf(content.project, content.formId)
        const ref = before.get(name)
        return [name, { ...content, revision: ref?.hash === content.hash ? ref.revision : revision }]
      }),
  )
  const withRef = (project: string, form: Form): Form => {
    const own = settled.get(nameOf(project, form.id))
    return own ? { ...form, content: { revision: own.revision, hash: own.hash } } : form
  }
  const projects = wanted.projects.map((project) => ({
    ...project,
    forms: project.forms.map((form) => withRef(project.id, form)),
  }))
  return { wanted: { ...wanted, projects }, contents: [...settled.values()] }
}

function nameOf(project: string, formId: string): string {
  return `${project}/${formId}`
}
