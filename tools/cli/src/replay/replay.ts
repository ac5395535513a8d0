import type { ReplayStep } from '@nextvisit/contracts'
import { type Client, withClient } from '@nextvisit/database'
import { carryGrants, carryOver, requireLevel } from './carry-over.ts'
import { foldUntilNearlyLevel } from './fold-until-nearly-level.ts'
import { compareTables, isEqual, type Schemas, type TableComparison } from './compare-tables.ts'
import { withLocks } from './live-locks.ts'
import type { RebuildSource } from './rebuild-source.ts'
import { carryAllRows, carryChangedRows, stopTrackingChanges } from './carried-columns.ts'
import { dropReplaced, requireNothingForeign } from './foreign-objects.ts'
import { dropSchema, replacedOf, requireSameMigrations, type ShadowOptions } from './shadow-schema.ts'

interface ReplayOptions extends Pick<ShadowOptions, 'adminUrl' | 'tableSources' | 'migrations'> {
  /** Connection as the owner of the schemas. It holds the replay's lock. */
  readonly client: Client
  readonly schemas: Schemas
  readonly sources: readonly RebuildSource[]
  /** Compares, but does not swap. */
  readonly isDryRun: boolean
  /** Swaps even if the rebuilt rows differ from the live ones. */
  readonly acceptsDifferences: boolean
  readonly onStep: (step: ReplayStep) => void | Promise<void>
  readonly onCompared: (comparisons: readonly TableComparison[]) => void
}

export type ReplayOutcome = {
  readonly outcome: 'compared' | 'refused' | 'swapped'
  readonly comparisons: readonly TableComparison[]
  /** Pause of folds during the swap, ms. */
  readonly lockedMs: number
}

/**
 * Rebuilds the read models beside the live ones, which stay in use. Compares both, and swaps them in one transaction
 * (design.md, Rebuild). If it is interrupted at any point, the live ones are unchanged.
 */
export async function replay(options: ReplayOptions): Promise<ReplayOutcome> {
  const { client, schemas, tableSources, isDryRun, acceptsDifferences, onStep, onCompared } = options
  await requireNothingForeign(client, schemas)
  await foldUntilNearlyLevel(options.sources)
  await analyze(options)
  await onStep('compare')
  const comparisons = await compareLevel(options)
  onCompared(comparisons)
  const goesOn = !isDryRun && (acceptsDifferences || isEqual(comparisons))
  if (!goesOn) {
    await dropSchema(client, schemas.rebuilt)
    return { outcome: isDryRun ? 'compared' : 'refused', comparisons, lockedMs: 0 }
  }
  // Work that grows with the number of rows happens here, so that the swap holds its locks only briefly.
  await onStep('carry')
  await carryAllRows(client, schemas, tableSources)
  await onStep('swap')
  await foldUntilNearlyLevel(options.sources)
  await carryChangedRows(client, schemas, tableSources)
  const lockedMs = await swap(options)
  await dropReplaced(client, schemas.live)
  return { outcome: 'swapped', comparisons, lockedMs }
}

/** Updates the statistics of the bulk-loaded rows; otherwise live queries would get bad plans. */
async function analyze({ client, schemas, tableSources }: ReplayOptions): Promise<void> {
  for (const table of Object.keys(tableSources)) await client.query(`ANALYZE ${schemas.rebuilt}.${table}`)
}

/** Compares both schemas. The live folds wait until both are level and the snapshot is taken, but not for the comparison. */
async function compareLevel(options: ReplayOptions): Promise<readonly TableComparison[]> {
  const { adminUrl, client, schemas, sources, tableSources } = options
  return withClient(adminUrl, async (snapshot) => {
    const locks = [`LOCK TABLE ${schemas.live}.checkpoints IN SHARE MODE`]
    await withLocks(client, { schema: schemas.live, locks }, async () => {
      for (const source of sources) await source.foldUp()
      await requireLevel(client, schemas)
      await snapshot.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      await snapshot.query('SELECT 1') // the first query takes the snapshot
    })
    return compareTables(snapshot, schemas, tableSources)
  })
}

/**
 * Swaps the schemas in one transaction. It waits for batches that have passed their fence, and no other batch passes before
 * the names are swapped. Otherwise later statements of a batch would write to the rebuilt tables, which they find by name.
 */
async function swap(options: ReplayOptions): Promise<number> {
  const { client, schemas, sources, tableSources, migrations } = options
  const { live, rebuilt } = schemas
  const locks = [
    `LOCK TABLE ${live}.checkpoints IN ACCESS EXCLUSIVE MODE`,
    `LOCK TABLE ${live}.dead_letters IN ACCESS EXCLUSIVE MODE`,
    // Moving a table takes this lock anyway. Here its timeout applies.
    ...Object.entries(tableSources).map(
      ([table, source]) =>
        `LOCK TABLE ${live}.${table} IN ${source === 'carried' ? 'ACCESS EXCLUSIVE' : 'SHARE ROW EXCLUSIVE'} MODE`,
    ),
  ]
  let lockedAt = 0
  await withLocks(client, { schema: live, locks }, async () => {
    lockedAt = performance.now()
    for (const source of sources) await source.foldUp()
    await requireLevel(client, schemas)
    await requireSameMigrations(client, live, migrations)
    await requireNothingForeign(client, schemas)
    await carryOver(client, schemas, tableSources)
    await stopTrackingChanges(client, schemas, tableSources)
    await carryGrants(client, schemas)
    await client.query(`COMMENT ON SCHEMA ${rebuilt} IS NULL`)
    await client.query(`ALTER SCHEMA ${live} RENAME TO ${replacedOf(live)}`)
    await client.query(`ALTER SCHEMA ${rebuilt} RENAME TO ${live}`)
  })
  return performance.now() - lockedAt
}
