import { withoutQuotedError } from '@nextvisit/contracts'
import { MASK } from '../users/api.ts'

/** Without what an error quotes, unless `withMessages`. */
export function withVisibleCause<Letters extends { readonly cause: string }>(
  letters: Letters,
  withMessages: boolean,
): Letters {
  return withMessages ? letters : { ...letters, cause: withoutQuotedError(letters.cause, MASK) }
}
