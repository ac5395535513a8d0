import type { ProjectRef } from '@nextvisit/contracts'

/**
 * Segments of users in this partition follow a later catalog than the one at hand, which is on its way: until it is
 * here nothing is folded, so that they are neither turned back nor passed over.
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
