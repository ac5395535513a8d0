import { MASK } from '../api/users.ts'

/** Of records that were parsed: an error of the fold follows, which may quote what a user said. */
const BEFORE_AN_ERROR = /^(folding it failed|set aside by [^:]*): /

/** Without what an error quotes, unless `withMessages`. */
export function withVisibleCause<Letters extends { readonly cause: string }>(
  letters: Letters,
  withMessages: boolean,
): Letters {
  const [known] = BEFORE_AN_ERROR.exec(letters.cause) ?? []
  return withMessages || known === undefined ? letters : { ...letters, cause: `${known}${MASK}` }
}
