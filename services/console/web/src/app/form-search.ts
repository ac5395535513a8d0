import { hoursOf, text } from './search-values.ts'

const FORM_TABS = ['queue', 'preview'] as const

/** Reads the address of a form's screen. A type alias, because the router requires an index signature. */
export type FormSearch = {
  readonly tab?: (typeof FORM_TABS)[number] | undefined
  /** Absent for production. */
  readonly environment?: 'T' | undefined
  readonly language?: string | undefined
  readonly width?: 'narrow' | undefined
  readonly hours?: 1 | undefined
  /** The last row of the previous page. */
  readonly after?: string | undefined
}

export function formSearchOf(search: Readonly<Record<string, unknown>>): FormSearch {
  return {
    tab: FORM_TABS.find((tab) => tab === search['tab']),
    environment: search['environment'] === 'T' ? 'T' : undefined,
    language: text(search['language']),
    width: search['width'] === 'narrow' ? 'narrow' : undefined,
    ...hoursOf(search),
    after: text(search['after']),
  }
}
