import {
  type CatalogReview,
  type CatalogView,
  createCatalogReview,
  type ReviewScope,
  type UnsettledRow,
} from '@nextvisit/catalog'
import { type Db, raw, sql, type Sql } from '@nextvisit/database'
import type { TickContext, Ticks } from '../core/projection.ts'

/** Rows that differ from the catalog. */
interface Unsettled extends UnsettledRow {
  /** They follow a later catalog, which another process already has. This process leaves them alone. */
  readonly isAhead?: boolean
}

export interface Compared<Rows extends Unsettled> {
  readonly unsettled: readonly Rows[]
  /** Scopes that were compared in part, with the place to continue from. */
  readonly unfinished?: readonly ReviewScope[]
}

export interface ReviewedTicksOptions<Rows extends Unsettled> {
  /** The table with the rows. */
  readonly table: string
  /** Returns a condition of SQL: time changes rows of the partition `owned.partition`, apart from those that are ahead. */
  readonly isDue: (instant: Date, ahead: readonly Rows[]) => Sql
  /** Compares the rows of these scopes with the catalog. */
  readonly compare: (db: Db, scopes: readonly ReviewScope[], catalog: CatalogView) => Promise<Compared<Rows>>
  /** Returns the changes that time and the catalog make to a partition's rows. */
  readonly tick: (db: Db, instant: Date, unsettled: readonly Rows[], context: TickContext) => ReturnType<Ticks['tick']>
}

/**
 * Creates ticks for rows that follow time and the catalog: a few queries, however many partitions there are.
 * {@link createCatalogReview} knows the scopes to compare with the catalog: one review a projection.
 */
export function createReviewedTicks<Rows extends Unsettled>(
  { table, isDue, compare, tick }: ReviewedTicksOptions<Rows>,
  review: CatalogReview = createCatalogReview(),
): Ticks {
  async function findUnsettled(db: Db, scopes: readonly ReviewScope[], catalog: CatalogView) {
    const { unsettled, unfinished } = await compare(db, scopes, catalog)
    review.endComparison(scopes, unsettled, unfinished)
    return unsettled
  }

  return {
    due: async (db, instant, { partitions, catalog }) => {
      const all = await readOwned(db, partitions, table, isDue(instant, []))
      const { scopes, needTick } = review.begin(catalog, partitions, all[0]?.table)
      const unsettled = await findUnsettled(db, scopes, catalog)
      const ahead = unsettled.filter(({ isAhead }) => isAhead)
      const owned = ahead.length > 0 ? await readOwned(db, partitions, table, isDue(instant, ahead)) : all
      const changing = owned.filter((one) => one.isDue)
      const stale = unsettled.filter(({ isAhead }) => !isAhead)
      return [...[...changing, ...stale].map(({ partition }) => partition), ...needTick]
    },
    tick: async (db, instant, context) => {
      const unsettled = await findUnsettled(db, review.beginTick(context.partition), context.catalog)
      return tick(db, instant, unsettled, context)
    },
  }
}

/** `table`: the oid of the table that was read. It changes when a replay swaps the schemas. */
function readOwned(db: Db, partitions: readonly number[], table: string, isDue: Sql) {
  return db.$queryRaw<{ partition: number; table: bigint; isDue: boolean }[]>(sql`
    SELECT owned.partition, ${raw(`'${table}'`)}::regclass::oid::bigint AS "table", ${isDue} AS "isDue"
    FROM unnest(${partitions}::int[]) AS owned (partition)`)
}
