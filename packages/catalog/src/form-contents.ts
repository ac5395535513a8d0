import {
  FormContent,
  type FormContentApplied,
  type FormContentRef,
  type ProjectRef,
  readPart,
} from '@nextvisit/contracts'
import { memoize } from '@nextvisit/domain'

/** A content in the log. A later version may have written it. */
export type RecordedContent = Pick<FormContentApplied, 'organization' | 'project' | 'formId' | 'revision' | 'hash'> & {
  readonly content: unknown
}

/** The contents of forms in the log, in memory as JSON. Offers and answers refer to old ones. */
export interface FormContents {
  /** Adds a content. Of two with one hash, form and revision, the first counts; they are equal. */
  readonly add: (content: RecordedContent) => void
  /** Notes that a revision of the catalog refers to a content: it is the form's content of its revision. */
  readonly refer: (place: ProjectRef, formId: string, ref: FormContentRef) => void
  /** Returns the form's content of a revision. undefined: it is not in the log, or this version does not understand it. */
  readonly content: (place: ProjectRef, formId: string, revision: number) => FormContent | undefined
  /** Checks a content. */
  readonly check: (place: ProjectRef, formId: string, ref: FormContentRef) => ContentCheck
}

export type ContentCheck =
  | { readonly outcome: 'understood' | 'missing' }
  | { readonly outcome: 'not-understood'; readonly reason: string }

/** The contents of one form and revision. */
interface Held {
  /** JSON by hash, in the order of the log. */
  readonly texts: Map<string, string>
  /** The hash that the catalog refers to. */
  hash?: string
}

/** Contents that are kept parsed. */
const PARSED_CONTENTS = 100

export function createFormContents(): FormContents {
  const all = new Map<string, Held>()
  /** Contents that were checked. The text of a key never changes. */
  const checks = new Map<string, ContentCheck>()
  const heldOf = (key: string): Held => {
    const held = all.get(key) ?? { texts: new Map() }
    all.set(key, held)
    return held
  }
  const read = (key: string, hash: string) => readPart(FormContent, JSON.parse(all.get(key)?.texts.get(hash) ?? ''))
  const parsed = memoize(PARSED_CONTENTS, (name) => {
    const [key = '', hash = ''] = name.split('#')
    return read(key, hash).value
  })

  return {
    add: ({ hash, content, ...form }) => {
      const { texts } = heldOf(keyOf(form, form.formId, form.revision))
      if (!texts.has(hash)) texts.set(hash, JSON.stringify(content ?? null))
    },
    refer: (place, formId, { revision, hash }) => {
      heldOf(keyOf(place, formId, revision)).hash = hash
    },
    content: (place, formId, revision) => {
      const key = keyOf(place, formId, revision)
      const held = all.get(key)
      const hash = held?.hash ?? held?.texts.keys().next().value
      return hash !== undefined && held?.texts.has(hash) ? parsed(`${key}#${hash}`) : undefined
    },
    check: (place, formId, { revision, hash }) => {
      const key = keyOf(place, formId, revision)
      if (!all.get(key)?.texts.has(hash)) return { outcome: 'missing' }
      const name = `${key}#${hash}`
      const known = checks.get(name)
      if (known) return known
      const { reason } = read(key, hash)
      const check: ContentCheck =
        reason === undefined ? { outcome: 'understood' } : { outcome: 'not-understood', reason }
      checks.set(name, check)
      return check
    },
  }
}

/** Describes a content: `3 elements, en, de`. */
export function contentInWords(content: unknown): string {
  const { elements, languages } = Object(content) as Partial<Record<string, unknown>>
  const count = Array.isArray(elements) ? elements.length : 0
  const tags = Array.isArray(languages) ? languages.map(String) : []
  return [`${count} ${count === 1 ? 'element' : 'elements'}`, ...tags].join(', ')
}

function keyOf({ organization, project }: ProjectRef, formId: string, revision: number): string {
  return `${organization}/${project}/${formId}/${revision}`
}
