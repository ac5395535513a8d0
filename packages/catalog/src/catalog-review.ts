import type { CatalogView } from './catalog-view.ts'

/** Rows of a partition that must be compared with the catalog. */
export interface ReviewScope {
  readonly partition: number
  /** Undefined: all organizations. */
  readonly organization: string | undefined
  /** The key of the row behind which the review of all organizations goes on; left out at its beginning. */
  readonly after?: readonly string[]
}

/** Where a row is that must be compared again. */
export interface RowPlace {
  readonly partition: number
  readonly organization: string
}

/**
 * Which rows must be compared with the catalog again. Ticks look each second whether the catalog removed or changed what
 * rows depend on; with many projects that costs seconds. So a partition is compared whole when this process begins with
 * it, and from then on only the organizations that have changed, and those with rows that are not settled yet.
 */
export interface CatalogReview {
  /**
   * The partitions that this process owns now. `tables` identifies the tables with the rows: after a replay has swapped
   * them, everything is compared again, as also for another `catalog`.
   */
  readonly begin: (catalog: CatalogView, partitions: readonly number[], tables: unknown) => readonly ReviewScope[]
  readonly scopesOf: (partition: number) => readonly ReviewScope[]
  /**
   * These scopes were compared after the last `begin`: of their rows only these are not settled. `unfinished`: scopes of all
   * organizations that were compared in part, with where they go on.
   */
  readonly settle: (
    scopes: readonly ReviewScope[],
    open: readonly RowPlace[],
    unfinished?: readonly ReviewScope[],
  ) => void
}

interface Pending {
  /** All organizations, from here on. Undefined: that is done. */
  whole: ReviewScope | undefined
  readonly organizations: Set<string>
  /** Changed since `begin`: these stay when the rest is settled. */
  readonly changed: Set<string>
}

export function createCatalogReview(): CatalogReview {
  let current: { readonly catalog: CatalogView; readonly tables: unknown } | undefined
  const pending = new Map<number, Pending>()

  const follow = (catalog: CatalogView): void => {
    catalog.onChange((organization) => {
      if (current?.catalog !== catalog) return
      for (const { changed } of pending.values()) changed.add(organization)
    })
  }

  const scopesOf: CatalogReview['scopesOf'] = (partition) => {
    const own = pending.get(partition)
    if (!own) return [wholeOf(partition)]
    const { whole } = own
    if (whole && !whole.after) return [whole]
    const organizations = new Set([...own.organizations, ...own.changed])
    const parts = Array.from(organizations, (organization) => ({ partition, organization }))
    return whole ? [whole, ...parts] : parts
  }

  return {
    scopesOf,
    begin: (catalog, partitions, tables) => {
      if (current?.catalog !== catalog || current.tables !== tables) pending.clear()
      if (current?.catalog !== catalog) follow(catalog)
      current = { catalog, tables }
      for (const partition of pending.keys()) if (!partitions.includes(partition)) pending.delete(partition)
      for (const partition of partitions) {
        const own = pending.get(partition) ?? {
          whole: wholeOf(partition),
          organizations: new Set(),
          changed: new Set(),
        }
        pending.set(partition, own)
        for (const organization of own.changed) own.organizations.add(organization)
        own.changed.clear()
      }
      return partitions.flatMap(scopesOf)
    },

    settle: (scopes, open, unfinished = []) => {
      for (const { partition } of scopes) {
        const own = pending.get(partition)
        if (!own) continue
        own.whole = unfinished.find((one) => one.partition === partition)
        own.organizations.clear()
      }
      for (const { partition, organization } of open) pending.get(partition)?.organizations.add(organization)
    },
  }
}

function wholeOf(partition: number): ReviewScope {
  return { partition, organization: undefined }
}
