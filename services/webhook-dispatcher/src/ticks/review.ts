import type { CatalogView } from '@nextvisit/catalog'

export type Review = ReturnType<typeof createReview>

/**
 * Tracks the partitions whose rows must be compared with the catalog: new ones of this process, and all after a change. A batch that
 * loaded the old catalog may commit after the change, so only a tick, which runs between batches, ends the comparison.
 */
export function createReview() {
  let current: CatalogView | undefined
  /** Number of changes of the catalog. */
  let changes = 0
  const reviewed = new Map<number, number>()

  function follow(catalog: CatalogView): void {
    current = catalog
    reviewed.clear()
    catalog.onChange(() => {
      if (current === catalog) changes += 1
    })
  }

  return {
    /** Returns the partitions to compare, of those that this process owns now. */
    begin: (catalog: CatalogView, partitions: readonly number[]): readonly number[] => {
      if (current !== catalog) follow(catalog)
      for (const partition of reviewed.keys()) if (!partitions.includes(partition)) reviewed.delete(partition)
      return partitions.filter((partition) => reviewed.get(partition) !== changes)
    },
    /** Returns the state of the catalog, for `end`. */
    state: (): number => changes,
    /** Notes that the rows of a partition are as this state of the catalog wants them. */
    end: (partition: number, state: number): void => {
      reviewed.set(partition, state)
    },
    isReviewed: (partition: number): boolean => reviewed.get(partition) === changes,
  }
}
