import type { Backoff } from './backoff.ts'
import type { Marks } from './marks.ts'
import type { Pauses } from './pauses.ts'
import type { Send } from './send.ts'
import type { Store } from './store.ts'

/** Collaborators that the parts of one client share. */
export interface PageParts {
  /** Members of every body. */
  readonly user: { readonly userName: string; readonly userSignature?: string | undefined }
  readonly send: Send
  readonly backoff: Backoff
  readonly store: Store
  readonly marks: Marks
  readonly pauses: Pauses
  readonly isClosed: () => boolean
}
