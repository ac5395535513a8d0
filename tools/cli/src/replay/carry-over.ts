import { USER_KEYS_TOPIC } from '@nextvisit/contracts'
import type { Client } from '@nextvisit/database'
import type { Schemas } from './compare-tables.ts'
import { carryChangedRows } from './carried-columns.ts'
import { ReplayError } from './replay-error.ts'
import type { TableSources } from '@nextvisit/consumer'

/**
 * Copies or moves data that is not in the log from the live schema to the rebuilt one. The live tables are locked, so no
 * step here takes longer for more users.
 */
export async function carryOver(client: Client, schemas: Schemas, tableSources: TableSources): Promise<void> {
  const { live, rebuilt } = schemas
  await carrySequences(client, schemas)
  await carryChangedRows(client, schemas, tableSources)
  for (const [table, source] of Object.entries(tableSources)) {
    if (source === 'carried') await moveTable(client, schemas, table)
    else if (source !== 'fold' && source.carry)
      await client.query(source.carry(`${live}.${table}`, `${rebuilt}.${table}`))
  }
  await carryDeadLetters(client, schemas)
  await carryCheckpoints(client, schemas)
}

/** Moves a table in constant time, with its grants, indexes and own sequence. */
async function moveTable(client: Client, { live, rebuilt }: Schemas, table: string): Promise<void> {
  await client.query(`DROP TABLE ${rebuilt}.${table}`)
  await client.query(`ALTER TABLE ${live}.${table} SET SCHEMA ${rebuilt}`)
}

async function copyTable(client: Client, { live, rebuilt }: Schemas, table: string, where: string): Promise<void> {
  const columns = await readColumns(client, live, table)
  await client.query(`DELETE FROM ${rebuilt}.${table} WHERE ${where}`)
  await client.query(
    `INSERT INTO ${rebuilt}.${table} (${columns}) OVERRIDING SYSTEM VALUE
     SELECT ${columns} FROM ${live}.${table} WHERE ${where}`,
  )
}

async function readColumns(client: Client, schema: string, table: string): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT quote_ident(attname) AS name FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
    [`${schema}.${table}`],
  )
  return rows.map(({ name }) => name).join(', ')
}

/** Carries sequence values over, because a drain in progress deletes outbox rows by their numbers. */
async function carrySequences(client: Client, { live, rebuilt }: Schemas): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT quote_ident(relname) AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'S'`,
    [live],
  )
  for (const { name } of rows) {
    await client.query(`SELECT setval('${rebuilt}.${name}', last_value, is_called) FROM ${live}.${name}`)
  }
}

/**
 * Moves the dead letters of the live schema. A dead letter that was retried there but cannot be folded here becomes dead
 * again. A dead letter that only the rebuild has is added.
 */
async function carryDeadLetters(client: Client, schemas: Schemas): Promise<void> {
  const { live, rebuilt } = schemas
  const place = 'projection, topic, partition, "offset"'
  const whole = 'key, value, headers, record_time, reason, service_version'
  await client.query(`CREATE TEMPORARY TABLE own_letters ON COMMIT DROP AS SELECT * FROM ${rebuilt}.dead_letters`)
  await moveTable(client, schemas, 'dead_letters')
  await client.query(`
    UPDATE ${rebuilt}.dead_letters AS letter SET state = 'dead', reason = own.reason FROM own_letters AS own
    WHERE (letter.projection, letter.topic, letter.partition, letter."offset")
        = (own.projection, own.topic, own.partition, own."offset")
      AND letter.state = 'retried' AND own.state = 'dead'`)
  await client.query(`
    INSERT INTO ${rebuilt}.dead_letters (${place}, ${whole})
    SELECT ${place}, ${whole} FROM own_letters
    WHERE projection IN (SELECT projection FROM ${live}.checkpoints)
    ON CONFLICT (${place}) DO NOTHING`)
}

/** The replay has read the keys of users itself. Their checkpoints may differ from the live ones, and go with its own rows. */
const IS_OF_RECORDS = `topic <> '${USER_KEYS_TOPIC}'`

/** Carries the checkpoints over with new versions, so that batches loaded from the live rows are stale and load again. */
async function carryCheckpoints(client: Client, { live, rebuilt }: Schemas): Promise<void> {
  await copyTable(client, { live, rebuilt }, 'checkpoints', IS_OF_RECORDS)
  await client.query(`
    UPDATE ${rebuilt}.checkpoints AS own SET version = 1 + greatest(own.version, (
      SELECT version FROM ${live}.checkpoints AS theirs
      WHERE (theirs.projection, theirs.topic, theirs.partition) = (own.projection, own.topic, own.partition)))`)
}

/** Throws unless both schemas have folded the same records and the rebuild has published nothing. */
export async function requireLevel(client: Client, { live, rebuilt }: Schemas): Promise<void> {
  const { rows } = await client.query<{ projection: string; topic: string; partition: number }>(`
    SELECT projection, topic, partition FROM ${live}.checkpoints AS theirs
    WHERE ${IS_OF_RECORDS} AND next_offset IS DISTINCT FROM (
      SELECT next_offset FROM ${rebuilt}.checkpoints AS own
      WHERE (own.projection, own.topic, own.partition) = (theirs.projection, theirs.topic, theirs.partition))`)
  const [place] = rows
  if (place) {
    throw new ReplayError(
      'NOT_LEVEL',
      `${place.projection} on ${place.topic}/${place.partition} is not at the checkpoint of the live rows. Nothing was swapped. Start over with --restart.`,
    )
  }
  const { rows: published } = await client.query(`SELECT FROM ${rebuilt}.outbox LIMIT 1`)
  if (published.length > 0) {
    throw new ReplayError(
      'REBUILD_PUBLISHES',
      'The rebuild has written to its outbox. This is a bug. Nothing was swapped.',
    )
  }
}

/** Copies all grants on the live schema, its tables, columns and functions to the rebuilt ones. */
export async function carryGrants(client: Client, { live, rebuilt }: Schemas): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `WITH rights AS (
       SELECT 'SCHEMA ' || quote_ident($2) AS target, nspacl AS acl, '' AS part
       FROM pg_namespace WHERE nspname = $1
       UNION ALL
       SELECT format('%s %I.%I', CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, $2::text, relname), relacl, ''
       FROM pg_class
       WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p', 'S')
         AND to_regclass(format('%I.%I', $2::text, relname)) IS NOT NULL
       UNION ALL
       SELECT format('TABLE %I.%I', $2::text, relname), attacl, format(' (%I)', attname)
       FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
       WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
       UNION ALL
       SELECT format('FUNCTION %I.%I(%s)', $2::text, proname, pg_get_function_identity_arguments(oid)), proacl, ''
       FROM pg_proc WHERE pronamespace = to_regnamespace($1)
     )
     SELECT format('GRANT %s%s ON %s TO %s%s', privilege_type, part, target,
                   CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
                   CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) AS statement
     FROM rights, aclexplode(acl)`,
    [live, rebuilt],
  )
  if (rows.length > 0) await client.query(rows.map(({ statement }) => statement).join(';\n'))
}
