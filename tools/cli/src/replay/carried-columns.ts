import type { CarriedColumn, TableSources } from '@nextvisit/consumer'
import type { Client } from '@nextvisit/database'
import { readPrimaryKey, type Schemas } from './compare-tables.ts'

/**
 * Carries over the columns that are copied row by row, while both schemas are in use. From here on the rebuilt schema
 * tracks its changed rows. For a million users this takes a minute, but the live folds do not wait for it.
 *
 * A live row changes later only because of a record, or an instant, that the rebuild has not reached yet. When it does,
 * the rebuilt row changes, too, and {@link carryChangedRows} carries it again.
 */
export async function carryAllRows(client: Client, schemas: Schemas, tableSources: TableSources): Promise<void> {
  for (const carried of await carriedColumnsOf(client, schemas, tableSources)) {
    await stopNoting(client, schemas, carried)
    await client.query(carryStatement(schemas, carried))
    await startNoting(client, schemas, carried)
    await client.query(`ANALYZE ${schemas.rebuilt}.${carried.table}`)
  }
}

/** Carries the rows that have changed since the last call, or since {@link carryAllRows}. */
export async function carryChangedRows(client: Client, schemas: Schemas, tableSources: TableSources): Promise<void> {
  for (const carried of await carriedColumnsOf(client, schemas, tableSources)) {
    const changed = changedTable(schemas, carried)
    // With current statistics, the planner looks up the few rows by key instead of scanning the whole table.
    await client.query(`ANALYZE ${changed}`)
    await client.query(carryStatement(schemas, carried, changed))
    await client.query(`TRUNCATE ${changed}`)
  }
}

/** Removes the change tracking, which is not part of the schema, before the swap. */
export async function stopTrackingChanges(client: Client, schemas: Schemas, tableSources: TableSources): Promise<void> {
  for (const carried of await carriedColumnsOf(client, schemas, tableSources))
    await stopNoting(client, schemas, carried)
}

interface Carried extends CarriedColumn {
  readonly table: string
  readonly key: readonly string[]
}

async function carriedColumnsOf(
  client: Client,
  { live }: Schemas,
  tableSources: TableSources,
): Promise<readonly Carried[]> {
  const declared = Object.entries(tableSources).flatMap(([table, source]) =>
    typeof source === 'object' && source.carriedColumn ? { table, ...source.carriedColumn } : [],
  )
  const carried: Carried[] = []
  for (const one of declared) carried.push({ ...one, key: await readPrimaryKey(client, live, one.table) })
  return carried
}

function carryStatement({ live, rebuilt }: Schemas, { table, column, when, key }: Carried, changed?: string): string {
  const keyOf = (row: string): string => `(${key.map((part) => `${row}.${part}`).join(', ')})`
  const theirs = changed
    ? `${changed} AS changed JOIN ${live}.${table} AS theirs ON ${keyOf('changed')} = ${keyOf('theirs')}`
    : `${live}.${table} AS theirs`
  return `
    UPDATE ${rebuilt}.${table} AS own SET ${column} = theirs.${column} FROM ${theirs}
    WHERE ${keyOf('own')} = ${keyOf('theirs')} AND ${when}`
}

function changedTable({ rebuilt }: Schemas, { table }: Carried): string {
  return `${rebuilt}._changed_${table}`
}

async function startNoting(client: Client, schemas: Schemas, carried: Carried): Promise<void> {
  const { rebuilt } = schemas
  const { table, key } = carried
  const changed = changedTable(schemas, carried)
  const columns = key.join(', ')
  const triggers = ['INSERT', 'UPDATE'].map(
    (change) => `
      CREATE TRIGGER _note_${change.toLowerCase()} AFTER ${change} ON ${rebuilt}.${table}
      REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION ${rebuilt}._note_${table}();`,
  )
  await client.query(`
    CREATE UNLOGGED TABLE ${changed} AS SELECT ${columns} FROM ${rebuilt}.${table} WITH NO DATA;
    ALTER TABLE ${changed} ADD PRIMARY KEY (${columns});
    CREATE FUNCTION ${rebuilt}._note_${table}() RETURNS trigger LANGUAGE plpgsql AS $note$ BEGIN
      INSERT INTO ${changed} SELECT ${columns} FROM written ON CONFLICT DO NOTHING;
      RETURN NULL;
    END $note$;
    ${triggers.join('')}`)
}

async function stopNoting(client: Client, schemas: Schemas, carried: Carried): Promise<void> {
  await client.query(`
    DROP FUNCTION IF EXISTS ${schemas.rebuilt}._note_${carried.table}() CASCADE;
    DROP TABLE IF EXISTS ${changedTable(schemas, carried)}`)
}
