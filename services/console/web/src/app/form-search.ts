import { RESULT_DAYS } from '../../../src/shared-with-pages.ts'
import { hoursOf, text } from './search-values.ts'

const FORM_TABS = ['results', 'answers', 'queue', 'preview'] as const

/** Members of the address of a form's screen. A type alias, because the router requires an index signature. */
export type FormSearch = {
  readonly tab?: (typeof FORM_TABS)[number] | undefined
  /** Absent for production. */
  readonly environment?: 'T' | undefined
  /** Period of the results. Absent for 30 days. */
  readonly days?: (typeof RESULT_DAYS)[number] | undefined
  readonly language?: string | undefined
  readonly width?: 'narrow' | undefined
  readonly hours?: 1 | undefined
  /** The last row of the previous page. */
  readonly after?: string | undefined
}

export function formSearchOf(search: Readonly<Record<string, unknown>>): FormSearch {
  return {
    tab: FORM_TABS.find((tab) => tab === search['tab']),
    ...environmentOf(search),
    // A number in the address is parsed.
    days: RESULT_DAYS.find((days) => days === String(search['days'])),
    language: text(search['language']),
    width: search['width'] === 'narrow' ? 'narrow' : undefined,
    ...hoursOf(search),
    after: text(search['after']),
  }
}

export const environmentOf = ({ environment }: { readonly environment?: unknown }) => ({
  environment: environment === 'T' ? ('T' as const) : undefined,
})
