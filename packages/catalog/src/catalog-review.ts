import type { CatalogView } from './catalog-view.ts'

/** Rows of a partition that must be compared with the catalog. */
export interface ReviewScope {
  readonly partition: number
  /** Undefined: all organizations. */
  readonly organization: string | undefined
  /** The key of the row behind which the review of all organizations goes on; left out at its beginning. */
  readonly after?: readonly string[]
  /** No tick of the partition has begun since this changed: a batch may still commit rows that follow the old catalog. */
  readonly needsTick?: true
}

/** Where a row is that must be compared again. */
export interface RowPlace {
  readonly partition: number
  readonly organization: string
}

/**
 * Which rows must be compared with the catalog again. Rounds of ticks look each second whether the catalog removed or
 * changed what rows depend on; with many projects that costs seconds. So a partition is compared whole when this process
 * begins with it, and from then on only the organizations that have changed, and those with rows that are not settled yet.
 *
 * A batch that loaded the old catalog commits after the change. A tick runs between batches, so each change waits for one:
 * what is compared from then on holds the rows of all such batches.
 */
export interface CatalogReview {
  /**
   * For a round of ticks. The partitions that this process owns now. `tables` identifies the tables with the rows: after a
   * replay has swapped them, everything is compared again, as also for another `catalog`.
   */
  readonly begin: (catalog: CatalogView, partitions: readonly number[], tables: unknown) => ReviewRound
  /** For a tick of this partition, which no batch runs beside: all that must be compared. */
  readonly beginTick: (partition: number) => readonly ReviewScope[]
  /**
   * These scopes, as `begin` or `beginTick` gave them, were compared: of their rows only these are not settled. What has
   * changed meanwhile stays. `unfinished`: scopes of all organizations that were compared in part, with where they go on.
   */
  readonly settle: (
    scopes: readonly ReviewScope[],
    open: readonly RowPlace[],
    unfinished?: readonly ReviewScope[],
  ) => void
}

export interface ReviewRound {
  /** To compare now. */
  readonly scopes: readonly ReviewScope[]
  /** Partitions with changes that wait for a tick. */
  readonly needTick: readonly number[]
}

/** Of one partition, by organization; undefined: all of them. */
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

    settle: (scopes, open, unfinished = []) => {
      for (const scope of scopes) {
        const { partition, organization } = scope
        const own = pending.get(partition)
        // Another object: it has changed, or was settled, since these were compared.
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

/** What is compared whole from its beginning needs nothing beside. */
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
