import { type Client, prepareServiceSchema, type ServiceSchemaOptions } from '@nextvisit/database'
import { ReplayError } from './replay-error.ts'
import { type TableSources, unknownTables } from '@nextvisit/consumer'

export interface ShadowOptions extends Pick<ServiceSchemaOptions, 'adminUrl' | 'role' | 'migrations'> {
  /** The live schema. */
  readonly live: string
  /** Fingerprint of the code that folds (`codeFingerprint`). */
  readonly code: string
  readonly tableSources: TableSources
  /** Starts over, and discards the schema of an interrupted replay. */
  readonly restart: boolean
}

/** Returns the name of the schema that a replay rebuilds. */
export function shadowOf(live: string): string {
  return `${live}_replay`
}

/** Returns the name of the old live schema after the swap, until it is dropped. */
export function replacedOf(live: string): string {
  return `${live}_replaced`
}

/**
 * Creates the schema beside the live one, with the same migrations and grants, or reuses the schema of an interrupted
 * replay. Returns the start of that replay.
 */
export async function openShadow(client: Client, options: ShadowOptions): Promise<string | undefined> {
  const { live, restart, code } = options
  const shadow = shadowOf(live)
  const found = restart ? undefined : await readNote(client, shadow)
  if (found && found.code !== code) {
    throw new ReplayError(
      'REPLAY_OF_OTHER_CODE',
      `The code has changed since the interrupted replay started (${found.code ?? 'unknown'}, now ${code}). Start over with --restart.`,
    )
  }
  if (!found) await makeShadow(client, options)
  await requireSameMigrations(client, live, options.migrations)
  await requireTableSources(client, live, options.tableSources)
  return found?.startedAt
}

export async function dropSchema(client: Client, schema: string): Promise<void> {
  await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
}

/** State of a replay, stored as a comment on the schema once the schema is complete. */
interface Note {
  readonly startedAt: string
  /** Fingerprint of the code that folds. */
  readonly code?: string
}

async function makeShadow(client: Client, options: ShadowOptions): Promise<void> {
  const { adminUrl, role, migrations, code } = options
  const shadow = shadowOf(options.live)
  await dropSchema(client, shadow)
  await prepareServiceSchema({ adminUrl, schema: shadow, role, migrations })
  const note: Note = { startedAt: new Date().toISOString(), code }
  await client.query(`COMMENT ON SCHEMA ${shadow} IS ${client.escapeLiteral(JSON.stringify(note))}`)
}

async function readNote(client: Client, schema: string): Promise<Note | undefined> {
  const { rows } = await client.query<{ note: string | null }>(
    `SELECT obj_description(oid, 'pg_namespace') AS note FROM pg_namespace WHERE nspname = $1`,
    [schema],
  )
  const note = rows[0]?.note
  return note ? (JSON.parse(note) as Note) : undefined
}

/** Throws unless both schemas have the same migrations; otherwise the swap would remove tables or functions. */
export async function requireSameMigrations(
  client: Client,
  live: string,
  migrations: ShadowOptions['migrations'],
): Promise<void> {
  for (const { table } of migrations) {
    const [ours, theirs] = [appliedIn(shadowOf(live), table), appliedIn(live, table)]
    const { rows } = await client.query<{ migration_name: string }>(
      `(${ours} EXCEPT ${theirs}) UNION ALL (${theirs} EXCEPT ${ours}) ORDER BY migration_name`,
    )
    if (rows.length === 0) continue
    throw new ReplayError('SCHEMAS_DIFFER', describeMigrations(rows.map(({ migration_name: name }) => name)))
  }
}

/** Describes differing migrations. A name that occurs twice is in both schemas, with different contents. */
function describeMigrations(names: readonly string[]): string {
  const changed = names.filter((name, index) => names.indexOf(name) < index)
  return changed.length > 0
    ? `Migrations of the live schema have different contents in this version of the service: ${changed.join(', ')}. nextvisit migrate would refuse them, too. Replay with the live version, and with --restart.`
    : `The live schema and this version of the service do not have the same migrations: ${names.join(', ')}. Run nextvisit migrate if this version is newer, or use the live version. Then start over with --restart.`
}

function appliedIn(schema: string, table: string): string {
  return `SELECT migration_name, checksum FROM ${schema}.${table} WHERE rolled_back_at IS NULL`
}

async function requireTableSources(client: Client, live: string, tableSources: TableSources): Promise<void> {
  const { withoutSource, missing } = unknownTables(await readTables(client, live), tableSources)
  if (withoutSource.length + missing.length === 0) return
  throw new ReplayError(
    'TABLE_WITHOUT_ROLE',
    `The service's replay does not say where the rows of these tables come from, or names some that are not there: ${[...withoutSource, ...missing].join(', ')}.`,
  )
}

async function readTables(client: Client, schema: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p') ORDER BY relname`,
    [schema],
  )
  return rows.map(({ name }) => name)
}
