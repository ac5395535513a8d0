import { setTimeout as sleep } from 'node:timers/promises'
import type { CatalogView } from '@nextvisit/catalog'
import { type AdapterOptions, type Client, type Db, isRetryable, withClient } from '@nextvisit/database'
import type { LogConnection } from '@nextvisit/log'
import type { Projection } from '../projection.ts'
import type { Schemas } from './compare-tables.ts'
import {
  liveTopic,
  publishedTopic,
  type RebuildContext,
  type RebuildSource,
  type SettledUntil,
} from './rebuild-source.ts'
import { replay, type ReplayOutcome } from './replay.ts'
import { ReplayError } from './replay-error.ts'
import { openShadow, type ShadowOptions, shadowOf } from './shadow-schema.ts'
import type { TableRoles } from './table-roles.ts'

/** What a service says about itself for a replay. */
export interface ReplayedService<Fact, Draft, OwnFact, OwnDraft> {
  readonly database: { readonly [Name in 'service' | 'schema' | 'role']: string }
  readonly serviceVersion: string
  /** Folds as the live service does. */
  readonly projection: Projection<Fact, Draft>
  /** Folds what the service itself has published. */
  readonly published?: Projection<OwnFact, OwnDraft> | undefined
  readonly roles: TableRoles
  readonly settledUntil?: SettledUntil
  readonly openDb: (options: AdapterOptions) => Db
}

export interface ReplayRequest {
  readonly isDryRun: boolean
  readonly acceptsDifferences: boolean
  readonly restart: boolean
}

export interface ReplayEnvironment {
  readonly adminUrl: string
  readonly connection: LogConnection
  readonly catalog: CatalogView
  readonly migrations: ShadowOptions['migrations']
  readonly onBegin: (begin: { readonly resumedFrom: string | undefined; readonly remaining: number }) => void
  readonly onProgress: (records: number) => void
  readonly onStep: (step: 'compare' | 'swap') => void | Promise<void>
  /** Postgres is away or busy; the replay begins again soon, and goes on where it was. */
  readonly onPause: (error: Error) => void
}

/** "NVRP": with a hash of the schema's name, the lock of its one replay. */
const REPLAY_LOCK = 0x4e_56_52_50

const PAUSE_MS = 3_000
/** In a row, without a record folded in between. */
const MAX_PAUSES = 20

/**
 * Replays one service; where Postgres is away or busy for a while before the swap, it goes on afterwards. Throws
 * {@link ReplayError}, and what else no second try can mend.
 */
export async function replayService<Fact, Draft, OwnFact, OwnDraft>(
  service: ReplayedService<Fact, Draft, OwnFact, OwnDraft>,
  request: ReplayRequest,
  environment: ReplayEnvironment,
): Promise<ReplayOutcome> {
  let [pauses, hasBegun, isSwapping] = [0, false, false]
  const watched: ReplayEnvironment = {
    ...environment,
    onBegin: (begin) => {
      hasBegun = true
      environment.onBegin(begin)
    },
    onProgress: (records) => {
      pauses = 0
      environment.onProgress(records)
    },
    onStep: (step) => {
      isSwapping = step === 'swap'
      return environment.onStep(step)
    },
  }
  for (;;) {
    try {
      return await replayOnce(service, { ...request, restart: request.restart && !hasBegun }, watched)
    } catch (error) {
      if (!(error instanceof Error) || !isRetryable(error) || isSwapping || pauses === MAX_PAUSES) throw error
      pauses += 1
      environment.onPause(error)
      await sleep(PAUSE_MS)
    }
  }
}

async function replayOnce<Fact, Draft, OwnFact, OwnDraft>(
  service: ReplayedService<Fact, Draft, OwnFact, OwnDraft>,
  request: ReplayRequest,
  environment: ReplayEnvironment,
): Promise<ReplayOutcome> {
  const { adminUrl, migrations, onBegin } = environment
  const { database, serviceVersion, roles } = service
  const schemas: Schemas = { live: database.schema, rebuilt: shadowOf(database.schema) }
  return withClient(adminUrl, async (client) => {
    await requireAlone(client, database.schema)
    const { restart } = request
    const shadow = { adminUrl, role: database.role, migrations, live: schemas.live, serviceVersion, roles, restart }
    const resumedFrom = await openShadow(client, shadow)
    const db = service.openDb({
      url: withoutFlush(adminUrl),
      schema: schemas.rebuilt,
      applicationName: `nextvisit replay ${database.service}`,
    })
    try {
      const sources = sourcesOf(service, { ...environment, ...service, client, db, schemas })
      const remaining = await Promise.all(sources.map((source) => source.remaining()))
      onBegin({ resumedFrom, remaining: remaining.reduce((sum, records) => sum + records, 0) })
      return await replay({ ...environment, ...request, client, schemas, sources, roles })
    } finally {
      await db.$disconnect()
    }
  })
}

function sourcesOf<Fact, Draft, OwnFact, OwnDraft>(
  { projection, published }: ReplayedService<Fact, Draft, OwnFact, OwnDraft>,
  context: RebuildContext,
): readonly RebuildSource[] {
  return [
    ...projection.topics.map((topic) => liveTopic(context, projection, topic)),
    ...(published ? published.topics.map((topic) => publishedTopic(context, published, topic)) : []),
  ]
}

/** The lock goes with the connection, however the process ends. */
async function requireAlone(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ alone: boolean }>('SELECT pg_try_advisory_lock($1, hashtext($2)) AS alone', [
    REPLAY_LOCK,
    schema,
  ])
  if (rows[0]?.alone) return
  throw new ReplayError('REPLAY_RUNS', `Another replay of the schema ${schema} runs. Wait for it, or stop it.`)
}

/**
 * A rebuild's commits need not reach the disk one by one: rows and checkpoint are lost together, and the swap's commit
 * brings all before it to the disk.
 */
function withoutFlush(url: string): string {
  const own = new URL(url)
  const given = own.searchParams.get('options')
  own.searchParams.set('options', `${given ? `${given} ` : ''}-c synchronous_commit=off`)
  return own.href
}
