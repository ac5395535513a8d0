import path from 'node:path'
import type { CatalogView } from '@nextvisit/catalog'
import { addressesVariable } from '@nextvisit/contracts'
import { type ConnectionOptions, createAdapter, type Db, type ServiceSchemaOptions } from '@nextvisit/database'
import type { InternalRoute, Logger } from '@nextvisit/service-kit'
import type { Registry } from 'prom-client'
import type { Barrier } from './barrier.ts'
import { coreMigrations } from './core-migrations.ts'
import type { AnyFact, Projection } from './projection.ts'
import type { PublishReplies } from './reply-publisher.ts'
import type { SettledUntil, TableSources } from './table-sources.ts'

/** What a projection may use beside the database that it folds into. */
export interface ProjectionParts {
  readonly logger: Logger
  readonly metrics: Registry
  /** How many partitions `user-events` has. */
  readonly countPartitions: () => Promise<number>
  /** Only in a running consumer that `hasReplies`. */
  readonly publishReplies?: PublishReplies
}

/** What the answers of a consumer may use. */
export interface RouteParts<Client extends Db> {
  /** For what admission asks. Neither folds nor reads use these connections. */
  readonly db: Db
  /** For reads, which may be slow. */
  readonly readDb: Client
  readonly catalog: CatalogView
  readonly now: () => Date
  /** Resolves once everything that was in these partitions of `user-events` at the call is folded. */
  readonly barrier: Barrier
  /** Somebody waits for records that are not folded yet: this process folds its share of them now. */
  readonly hurry: () => void
  /** How many partitions `user-events` has. */
  readonly countPartitions: () => Promise<number>
}

/** What one consumer is. Its process, replay, migrations, the commands of `nextvisit` and the shared specs read it. */
export interface ConsumerDefinition<
  Name extends string,
  Client extends Db,
  Fact extends AnyFact,
  Draft,
  OwnFact extends AnyFact,
  OwnDraft,
  Memory,
> {
  /** The name of its folder, its projection and its consumer group. */
  readonly name: Name
  /** The folder of its package; its migrations are in `prisma/migrations`. */
  readonly directory: string
  /** Of its package; goes into dead letters. */
  readonly version: string
  /** The Postgres schema that it keeps its rows in. */
  readonly schema: string
  /** Imports its generated Prisma client only when it is called: the commands that need no rows stay fast. */
  readonly openDb: (adapter: ReturnType<typeof createAdapter>) => Promise<Client>
  /** What its projection keeps in memory for its routes, once in a process. Lost with it: for figures only. */
  readonly memory?: () => Memory
  readonly projection: (parts: ProjectionParts, memory: Memory) => Projection<Fact, Draft>
  /** Folds what the consumer itself has published, in a replay. `partitions`: of `user-events`. */
  readonly published?: (partitions: number) => Projection<OwnFact, OwnDraft>
  /** Where the rows of each of its tables come from. */
  readonly tables: TableSources
  readonly settledUntil?: SettledUntil
  /** What other services may ask it. */
  readonly routes: (parts: RouteParts<Client>, memory: Memory) => readonly InternalRoute[]
  /** How long records gather that nobody waits for. Default `GATHER_MS`. */
  readonly gatherMs?: number
  /** Its commits write records into the outbox, to be published. */
  readonly hasOutbox?: true
  /** Gateways wait for its replies, over Redis, and tell it there for which records: it needs `REDIS_URL`. */
  readonly hasReplies?: true
}

/** A consumer for code that serves every consumer: the types of its rows and facts do not matter there. */
export interface Consumer<Name extends string = string>
  extends Omit<
    ConsumerDefinition<Name, Db, AnyFact, unknown, AnyFact, unknown, unknown>,
    // A client is opened with its adapter.
    'openDb' | 'projection' | 'routes'
  > {
  /** `memory` is shared with `routes`. Left out: it has one of its own. */
  readonly projection: (parts: ProjectionParts, memory?: unknown) => Projection<AnyFact, unknown>
  readonly routes: (parts: RouteParts<Db>, memory?: unknown) => readonly InternalRoute[]
  readonly openDb: (options: ConnectionOptions) => Promise<Db>
  /** Its login role: it reads and writes the rows of its schema, and sees no other. */
  readonly role: string
  /** May name a database server of its own: `METERING_DATABASE_URL`. */
  readonly databaseVariable: string
  /** Tells other services where it answers: `METERING_URLS`. */
  readonly addressesVariable: string
  /** The core's, then its own. */
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
  // Its routes get the client that its openDb gives, and its projection only facts that fit the schema.
  return { ...definition, ...derived } as unknown as Consumer<Name>
}
