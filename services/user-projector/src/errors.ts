import type { ProjectRef } from '@nextvisit/contracts'

/**
 * Users of this partition were computed with a later catalog than this process has. Nothing is folded until that catalog
 * arrives, so that no user's segments go back to an older one.
 */
export class CatalogBehindError extends Error {
  override readonly name = 'CatalogBehindError'
  readonly code = 'CATALOG_BEHIND'
  readonly retryable = true

  constructor({ organization, project }: ProjectRef, atHand: number, computedWith: number) {
    super(
      `The catalog at hand has revision ${atHand} of ${organization}, but segments of ${organization}/${project} were ` +
        `computed with revision ${computedWith}. Waiting for it.`,
    )
  }
}
