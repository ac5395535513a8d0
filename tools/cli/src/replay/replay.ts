import { type Client, withClient } from '@nextvisit/database'
import { carryOver, requireLevel } from './carry-over.ts'
import { catchUp } from './catch-up.ts'
import { compareTables, isEqual, type Schemas, type TableComparison } from './compare-tables.ts'
import { withLocks } from './live-locks.ts'
import type { RebuildSource } from './rebuild-source.ts'
import { dropSchema, replacedOf, requireSameMigrations, type ShadowOptions } from './shadow-schema.ts'
import { coreTableRoles } from '@nextvisit/consumer'

export interface ReplayOptions extends Pick<ShadowOptions, 'adminUrl' | 'roles' | 'migrations'> {
  /** Of the schemas' owner; holds the replay's own lock. */
  readonly client: Client
  readonly schemas: Schemas
  readonly sources: readonly RebuildSource[]
  /** Compare and swap nothing. */
  readonly isDryRun: boolean
  /** Swap also where the rebuilt rows are not the live ones. */
  readonly acceptsDifferences: boolean
  readonly onStep: (step: 'compare' | 'swap') => void | Promise<void>
}

export type ReplayOutcome = {
  readonly outcome: 'compared' | 'refused' | 'swapped'
  readonly comparisons: readonly TableComparison[]
  /** How long folds waited for the swap. */
  readonly lockedMs: number
}

/**
 * Rebuilds the read models beside the live ones, which go on serving; compares; and swaps the two in one transaction
 * (docs/design.md, The core). Interrupted at any point, it leaves the live ones as they were.
 */
export async function replay(options: ReplayOptions): Promise<ReplayOutcome> {
  const { client, schemas, isDryRun, acceptsDifferences, onStep } = options
  await catchUp(options.sources)
  await analyze(options)
  await onStep('compare')
  const comparisons = await compareLevel(options)
  const goesOn = !isDryRun && (acceptsDifferences || isEqual(comparisons))
  if (!goesOn) {
    await dropSchema(client, schemas.rebuilt)
    return { outcome: isDryRun ? 'compared' : 'refused', comparisons, lockedMs: 0 }
  }
  await onStep('swap')
  // What came in during the comparison is folded before anybody waits for it.
  await catchUp(options.sources)
  const lockedMs = await swap(options)
  await dropSchema(client, replacedOf(schemas.live))
  return { outcome: 'swapped', comparisons, lockedMs }
}

/** Rows that came in bulk: without this the live queries would have to guess. */
async function analyze({ client, schemas, roles }: ReplayOptions): Promise<void> {
  for (const table of Object.keys(roles)) await client.query(`ANALYZE ${schemas.rebuilt}.${table}`)
}

/** The live folds wait until both are level and the snapshot is taken; the comparison itself holds nobody up. */
async function compareLevel(options: ReplayOptions): Promise<readonly TableComparison[]> {
  const { adminUrl, client, schemas, sources, roles } = options
  return withClient(adminUrl, async (snapshot) => {
    const locks = [`LOCK TABLE ${schemas.live}.checkpoints IN SHARE MODE`]
    await withLocks(client, { schema: schemas.live, locks }, async () => {
      for (const source of sources) await source.foldUp()
      await requireLevel(client, schemas)
      await snapshot.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      await snapshot.query('SELECT 1') // the snapshot is that of the first query
    })
    return compareTables(snapshot, schemas, roles)
  })
}

/**
 * One transaction. A batch that has passed its fence is waited for, and none can pass it before the names are swapped:
 * otherwise its later statements would find, by name, the rebuilt tables.
 */
async function swap(options: ReplayOptions): Promise<number> {
  const { client, schemas, sources, roles, migrations } = options
  const { live, rebuilt } = schemas
  const locks = [
    `LOCK TABLE ${live}.checkpoints IN ACCESS EXCLUSIVE MODE`,
    `LOCK TABLE ${live}.dead_letters IN SHARE ROW EXCLUSIVE MODE`,
    // What is moved is locked as moving it will, now that there is a limit to the wait.
    ...Object.entries({ ...coreTableRoles, ...roles }).map(
      ([table, role]) =>
        `LOCK TABLE ${live}.${table} IN ${role === 'carried' ? 'ACCESS EXCLUSIVE' : 'SHARE ROW EXCLUSIVE'} MODE`,
    ),
  ]
  let lockedAt = 0
  await withLocks(client, { schema: live, locks }, async () => {
    lockedAt = performance.now()
    for (const source of sources) await source.foldUp()
    await requireLevel(client, schemas)
    await requireSameMigrations(client, live, migrations)
    await carryOver(client, schemas, roles)
    await client.query(`COMMENT ON SCHEMA ${rebuilt} IS NULL`)
    await client.query(`ALTER SCHEMA ${live} RENAME TO ${replacedOf(live)}`)
    await client.query(`ALTER SCHEMA ${rebuilt} RENAME TO ${live}`)
  })
  return performance.now() - lockedAt
}
