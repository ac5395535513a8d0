import type { CatalogView } from './catalog-view.ts'

/** The rows of a partition that must be compared with the catalog. */
export interface ReviewScope {
  readonly partition: number
  /** undefined: all organizations. */
  readonly organization: string | undefined
  /** The key of the row after which the review of all organizations continues. Absent: it starts. */
  readonly after?: readonly string[]
  /** No tick of the partition has begun since the change, so a batch may still commit rows that follow the old catalog. */
  readonly needsTick?: true
}

/** A row that must be compared again. */
export interface UnsettledRow {
  readonly partition: number
  readonly organization: string
}

/**
 * Tracks the rows that must be compared with the catalog again. Comparing all rows in each round of ticks would take
 * seconds. A partition is therefore compared in full when this process starts with it, and after that only for
 * organizations that have changed or have unsettled rows.
 *
 * A batch that loaded the old catalog may commit after the change. A tick runs between batches, so each change waits for
 * the next tick, whose comparison includes the rows of all such batches.
 */
export interface CatalogReview {
  /**
   * Begins a round of ticks. `partitions`: those that this process owns now. `tables` identifies the tables with the rows:
   * after a replay has swapped them, or with another `catalog`, everything is compared again.
   */
  readonly begin: (
    catalog: CatalogView,
    partitions: readonly number[],
    tables: unknown,
  ) => {
    /** The rows to compare now. */
    readonly scopes: readonly ReviewScope[]
    /** Partitions with changes that wait for a tick. */
    readonly needTick: readonly number[]
  }
  /** Begins a tick of a partition, during which no batch runs. Returns everything that must be compared. */
  readonly beginTick: (partition: number) => readonly ReviewScope[]
  /**
   * Ends the comparison of scopes that `begin` or `beginTick` returned. `open`: their unsettled rows. `unfinished`: scopes of
   * all organizations that were compared in part, with the key to continue after. Scopes that changed meanwhile stay.
   */
  readonly endComparison: (
    scopes: readonly ReviewScope[],
    open: readonly UnsettledRow[],
    unfinished?: readonly ReviewScope[],
  ) => void
}

/** The scopes of one partition, by organization. undefined: all organizations. */
type Pending = Map<string | undefined, ReviewScope>

export function createCatalogReview(): CatalogReview {
  let current: { readonly catalog: CatalogView; readonly tables: unknown } | undefined
  const pending = new Map<number, Pending>()

  const follow = (catalog: CatalogView): void => {
    catalog.onChange((organization) => {
      if (current?.catalog !== catalog) return
      for (const [partition, own] of pending) {
        if (!own.get(undefined)?.needsTick) own.set(organization, { partition, organization, needsTick: true })
      }
    })
  }

  return {
    begin: (catalog, partitions, tables) => {
      if (current?.catalog !== catalog || current.tables !== tables) pending.clear()
      if (current?.catalog !== catalog) follow(catalog)
      current = { catalog, tables }
      for (const partition of pending.keys()) if (!partitions.includes(partition)) pending.delete(partition)
      for (const partition of partitions) {
        if (!pending.has(partition))
          pending.set(partition, new Map([[undefined, { ...wholeOf(partition), needsTick: true }]]))
      }
      return {
        scopes: [...pending.values()].flatMap(scopesOf).filter(({ needsTick }) => !needsTick),
        needTick: [...pending].flatMap(([partition, own]) => (isWaiting(own) ? partition : [])),
      }
    },

    beginTick: (partition) => {
      const own = pending.get(partition)
      if (!own) return [wholeOf(partition)]
      for (const [key, { needsTick, ...scope }] of own) if (needsTick) own.set(key, scope)
      return scopesOf(own)
    },

    endComparison: (scopes, open, unfinished = []) => {
      for (const scope of scopes) {
        const { partition, organization } = scope
        const own = pending.get(partition)
        // A different object has changed, or was settled, since it was compared.
        if (own?.get(organization) !== scope) continue
        const rest = organization === undefined ? unfinished.find((one) => one.partition === partition) : undefined
        if (rest) own.set(undefined, rest)
        else own.delete(organization)
      }
      for (const { partition, organization } of open) {
        const own = pending.get(partition)
        if (own && !own.has(organization)) own.set(organization, { partition, organization })
      }
    },
  }
}

/** Returns the scopes of a partition. A full comparison from the start includes all others. */
function scopesOf(own: Pending): readonly ReviewScope[] {
  const whole = own.get(undefined)
  return whole && !whole.after ? [whole] : [...own.values()]
}

function isWaiting(own: Pending): boolean {
  return [...own.values()].some(({ needsTick }) => needsTick)
}

function wholeOf(partition: number): ReviewScope {
  return { partition, organization: undefined }
}
