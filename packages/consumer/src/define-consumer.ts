import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CatalogView } from '@nextvisit/catalog'
import { addressesVariable } from '@nextvisit/contracts'
import { type ConnectionOptions, createAdapter, type Db, type ServiceSchemaOptions } from '@nextvisit/database'
import { createLogger, type CallRoute, type Logger } from '@nextvisit/service-kit'
import { Registry } from 'prom-client'
import type { Barrier } from './barrier.ts'
import type { AnyFact, Projection } from './projection.ts'
import type { PublishReplies } from './replies/reply-publisher.ts'
import type { SettledUntil, TableSources } from './table-sources.ts'

/** Folder of the core's migrations. They run in the schema of each consumer, before its own. */
export const coreMigrations = fileURLToPath(new URL('../prisma/migrations', import.meta.url))

/** The parts of the process that a projection may use beside its database. */
export interface ProjectionParts {
  readonly logger: Logger
  readonly metrics: Registry
  /** Returns the number of partitions of `user-events`. */
  readonly countPartitions: () => Promise<number>
  /** Only in a running consumer that `hasReplies`. */
  readonly publishReplies?: PublishReplies
}

/** Returns parts for a projection that is only rebuilt or tested: no log, no scraped metrics, no replies. */
export function offlineParts(countPartitions: () => Promise<number>): ProjectionParts {
  return { logger: createLogger('rebuild', 'silent'), metrics: new Registry(), countPartitions }
}

/** The parts of the process that a consumer's routes may use. */
export interface RouteParts<Client extends Db> {
  /** Connections for admission. Neither folds nor reads use them. */
  readonly db: Db
  /** Connections for reads, which may be slow. */
  readonly readDb: Client
  readonly catalog: CatalogView
  readonly now: () => Date
  /** Resolves once every record that was in these partitions of `user-events` at the call is folded. */
  readonly barrier: Barrier
  /** Fetches this process's share of the gathered records now: a caller waits for their fold. */
  readonly fetchNow: () => void
  /** Returns the number of partitions of `user-events`. */
  readonly countPartitions: () => Promise<number>
}

/** The description of a consumer. Its process, replay, migrations, the commands of `nextvisit` and the shared specs read it. */
export interface ConsumerDefinition<
  Name extends string,
  Client extends Db,
  Fact extends AnyFact,
  Draft,
  OwnFact extends AnyFact,
  OwnDraft,
  Memory,
> {
  /** Names its folder, its projection and its consumer group. */
  readonly name: Name
  /** The folder of its package; its migrations are in `prisma/migrations`. */
  readonly directory: string
  /** The version of its package, stored with dead letters. */
  readonly version: string
  /** The Postgres schema of its rows. */
  readonly schema: string
  /** Imports its generated Prisma client when called: commands that need no rows stay fast. */
  readonly openDb: (adapter: ReturnType<typeof createAdapter>) => Promise<Client>
  /** Creates the memory that its projection shares with its routes, once a process. Lost with it: for figures only. */
  readonly memory?: () => Memory
  readonly projection: (parts: ProjectionParts, memory: Memory) => Projection<Fact, Draft>
  /** Folds the records that the consumer itself has published, in a replay. `partitions`: the number of `user-events`. */
  readonly published?: (partitions: number) => Projection<OwnFact, OwnDraft>
  /** The source of the rows of each of its tables. */
  readonly tables: TableSources
  readonly settledUntil?: SettledUntil
  readonly routes: (parts: RouteParts<Client>, memory: Memory) => readonly CallRoute[]
  /** Time for which records gather in the log while no caller waits for them. Default: `GATHER_MS`. */
  readonly gatherMs?: number
  /** Its commits write records into the outbox. */
  readonly hasOutbox?: true
  /** Gateways wait for its replies over Redis, and name the awaited records there: it needs `REDIS_URL`. */
  readonly hasReplies?: true
}

/** A consumer for code that serves every consumer, without the types of its rows and facts. */
export interface Consumer<Name extends string = string>
  extends Omit<
    ConsumerDefinition<Name, Db, AnyFact, unknown, AnyFact, unknown, unknown>,
    'openDb' | 'projection' | 'routes'
  > {
  /** `memory` is shared with `routes`. Default: a new one. */
  readonly projection: (parts: ProjectionParts, memory?: unknown) => Projection<AnyFact, unknown>
  readonly routes: (parts: RouteParts<Db>, memory?: unknown) => readonly CallRoute[]
  readonly openDb: (options: ConnectionOptions) => Promise<Db>
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
export function defineConsumer<
  const Name extends string,
  Client extends Db,
  Fact extends AnyFact,
  Draft,
  OwnFact extends AnyFact = AnyFact,
  OwnDraft = unknown,
  Memory = undefined,
>(definition: ConsumerDefinition<Name, Client, Fact, Draft, OwnFact, OwnDraft, Memory>): Consumer<Name> {
  const { name, schema, directory } = definition
  const newMemory = () => definition.memory?.() as Memory
  const variable = name.replaceAll('-', '_').toUpperCase()
  const derived = {
    role: `nextvisit_${schema}`,
    databaseVariable: `${variable}_DATABASE_URL`,
    addressesVariable: addressesVariable(name),
    migrations: [
      { directory: coreMigrations, table: '_core_migrations' },
      { directory: path.join(directory, 'prisma/migrations'), table: '_prisma_migrations' },
    ],
    openDb: (options: ConnectionOptions) => definition.openDb(createAdapter(options)),
    projection: (parts: ProjectionParts, memory = newMemory()) => definition.projection(parts, memory),
    routes: (parts: RouteParts<Client>, memory = newMemory()) => definition.routes(parts, memory),
  }
  // Its routes get the client that its openDb returns, and its projection only facts that fit its schema.
  return { ...definition, ...derived } as unknown as Consumer<Name>
}
