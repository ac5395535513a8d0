import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CatalogView } from '@nextvisit/catalog'
import { addressesVariable, CALLS, type CallTable } from '@nextvisit/contracts'
import { type ConnectionOptions, createAdapter, type Db, type ServiceSchemaOptions } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import { type CallRoute, type Handlers, serveCalls } from '@nextvisit/service-kit'
import { Registry } from 'prom-client'
import type { Projection } from '../core/projection.ts'
import type { NotePublished } from '../outbox/outbox-drain.ts'
import type { Barrier } from '../queries/barrier.ts'
import type { PublishReplies } from '../replies/reply-publisher.ts'
import type { SettledUntil, TableSources } from '../rebuild/table-sources.ts'

/** Folder of the core's migrations. They run in the schema of each consumer, before its own. */
export const coreMigrations = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

/** The parts of the process that a projection may use in addition to its database. */
export interface ProjectionParts {
  readonly metrics: Registry
  /** Returns the number of partitions that the keys of the projection's topic are spread over. */
  readonly countKeyPartitions: () => Promise<number>
  /** Sends nothing in a consumer without `isAwaited`. */
  readonly publishReplies: PublishReplies
}

/** Returns parts for a projection that is only rebuilt or tested: no log, no scraped metrics, no replies. */
export function offlineParts(countKeyPartitions: () => Promise<number>): ProjectionParts {
  return { metrics: new Registry(), countKeyPartitions, publishReplies: () => Promise.resolve() }
}

/** The parts of the process that a handler of a call may use. */
export interface HandlerParts extends Pick<ProjectionParts, 'countKeyPartitions'> {
  /** Connections for admission. Neither folds nor reads use them. */
  readonly db: Db
  /** Connections for reads, which may be slow. */
  readonly readDb: Db
  readonly catalog: CatalogView
  readonly now: () => Date
  /** Resolves once every record that was in these partitions at the call is folded. */
  readonly barrier: Barrier
  /** Ends the pause between this process's fetches: a caller waits for records of any partition. */
  readonly fetchNow: () => void
}

/** A handler for each call of the service with this name in `CALLS`. A service that others do not ask has none. */
type HandlersOf<Name extends string> = Name extends keyof typeof CALLS
  ? Handlers<(typeof CALLS)[Name], HandlerParts>
  : Readonly<Record<string, never>>

/** A projection whose facts and drafts have types of its own. */
// oxlint-disable-next-line typescript/no-explicit-any
type OwnProjection = Projection<any, any>

/** The description of a consumer. Its process, replay, migrations, the commands of `nextvisit` and the shared specs read it. */
interface ConsumerDefinition<Name extends string> {
  /** Names its folder, its projection, its consumer group and its calls. */
  readonly name: Name
  /** The folder of its package; its migrations are in `prisma/migrations`. */
  readonly directory: string
  /** The version of its package, stored with dead letters. */
  readonly version: string
  /** The Postgres schema of its rows. */
  readonly schema: string
  /** Imports its generated Prisma client when called: commands that need no rows stay fast. */
  readonly openDb: (adapter: ReturnType<typeof createAdapter>) => Promise<Db>
  readonly projection: (parts: ProjectionParts) => OwnProjection
  /**
   * Folds, in a replay, the records that the consumer publishes through its outbox. Absent: none of them. `partitions`: the number of
   * partitions of user-events.
   */
  readonly published?: (partitions: number) => OwnProjection
  /** It has an outbox. Not needed with `published` or `notePublished`. */
  readonly publishes?: true
  /** Notes the places of the records that the consumer publishes through its outbox. */
  readonly notePublished?: NotePublished
  /** Pause after each full request of its outbox: 100 rows. Default: none. */
  readonly outboxPauseMs?: number
  /** The source of the rows of each of its tables. */
  readonly tables: TableSources
  readonly settledUntil?: SettledUntil
  readonly calls: HandlersOf<Name>
  /** Pause between fetches, in which records gather in the log, while no caller waits. Default: `FETCH_PAUSE_MS`. */
  readonly fetchPauseMs?: number
  /** Its projection opens sealed records (`Projection.opens`): it needs `NEXTVISIT_SECRET_KEY`. */
  readonly opensRecords?: true
  /** Returns true if a gateway waits for the reply to a record. Absent: it sends no replies, and needs no `REDIS_URL`. */
  readonly isAwaited?: (record: FetchedRecord) => boolean
}

/** A consumer with the values that follow from its definition, for code that serves every consumer. */
export interface Consumer<Name extends string = string>
  extends Omit<ConsumerDefinition<Name>, 'openDb' | 'calls' | 'projection' | 'published'> {
  /** The types of facts and drafts are hidden: the core gives a projection facts that fit its schema, and drafts of its own. */
  readonly projection: (parts: ProjectionParts) => Projection
  readonly published?: (partitions: number) => Projection
  readonly openDb: (options: ConnectionOptions) => Promise<Db>
  /** Its own calls, with their handlers. */
  readonly routes: (parts: HandlerParts) => readonly CallRoute[]
  /** Its login role, which may use its own schema only. */
  readonly role: string
  /** The variable that may name a database server of its own: `METERING_DATABASE_URL`. */
  readonly databaseVariable: string
  /** The variable with its addresses for other services: `METERING_URLS`. */
  readonly addressesVariable: string
  /** The core's migrations, then its own. */
  readonly migrations: ServiceSchemaOptions['migrations']
}

/** Describes a consumer. Opens nothing, and imports no Prisma client. */
export function defineConsumer<const Name extends string>({
  openDb,
  calls,
  ...definition
}: ConsumerDefinition<Name>): Consumer<Name> {
  const { name, schema, directory } = definition
  const tables: Readonly<Record<string, CallTable>> = CALLS
  return {
    ...definition,
    role: `nextvisit_${schema}`,
    databaseVariable: `${name.replaceAll('-', '_').toUpperCase()}_DATABASE_URL`,
    addressesVariable: addressesVariable(name),
    migrations: [
      { directory: coreMigrations, table: '_core_migrations' },
      { directory: path.join(directory, 'prisma/migrations'), table: '_prisma_migrations' },
    ],
    openDb: (options) => openDb(createAdapter(options)),
    routes: (parts) => serveCalls(tables[name] ?? {}, calls, parts),
  }
}
