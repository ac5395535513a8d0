import { setTimeout as sleep } from 'node:timers/promises'
import type { CatalogView } from '@nextvisit/catalog'
import { type Consumer, coreTableSources, createUserKeys, offlineParts, type UserKeys } from '@nextvisit/consumer'
import { type LostOffsets, type ReplayStep, TOPICS, USER_KEYS_TOPIC, USER_PROJECTOR_GROUP } from '@nextvisit/contracts'
import { openCommitDb, withClient } from '@nextvisit/database'
import { createLogAdmin, type LogConnection, readKeyPartitions, withLogAdmin } from '@nextvisit/log'
import type { KeyRing } from '@nextvisit/sealing'
import type { Schemas, TableComparison } from './compare-tables.ts'
import { codeFingerprint } from './code-fingerprint.ts'
import { dropReplaced } from './foreign-objects.ts'
import { liveTopic } from './live-topic.ts'
import { lostLine } from './lost-offsets.ts'
import { publishedTopic } from './published-topic.ts'
import type { RebuildContext, RebuildSource } from './rebuild-source.ts'
import { replay, type ReplayOutcome } from './replay.ts'
import { requireAlone } from './replay-lock.ts'
import { openShadow, shadowOf } from './shadow-schema.ts'
import { unavailablePart } from './unavailable-error.ts'

export interface ReplayRequest {
  readonly isDryRun: boolean
  readonly acceptsDifferences: boolean
  readonly restart: boolean
}

export interface ReplayEnvironment {
  readonly adminUrl: string
  readonly connection: LogConnection
  readonly catalog: CatalogView
  /** Opens sealed records. Absent: for a consumer that opens none. */
  readonly keyRing?: KeyRing | undefined
  /** Fingerprint of the code. Default: `codeFingerprint`. */
  readonly code?: string
  readonly onBegin: (begin: { readonly resumedFrom: string | undefined; readonly remaining: number }) => void
  readonly onProgress: (records: number) => void
  /** Called once for the same offsets. */
  readonly onLost: (lost: LostOffsets) => void
  readonly onStep: (step: ReplayStep) => void | Promise<void>
  readonly onCompared: (comparisons: readonly TableComparison[]) => void
  /** Called if Kafka or Postgres is unavailable or busy. The replay resumes soon. */
  readonly onPause: (error: Error) => void
}

const PAUSE_MS = 3_000
/** Maximum number of consecutive pauses without a folded record. */
const MAX_PAUSES = 20

/**
 * Replays one consumer. If Kafka or Postgres is unavailable or busy before the swap, the replay resumes afterwards. Throws
 * `ReplayError`, and any error that a retry would repeat.
 */
export async function replayConsumer(
  consumer: Consumer,
  request: ReplayRequest,
  environment: ReplayEnvironment,
): Promise<ReplayOutcome> {
  let [pauses, hasBegun, isSwapping] = [0, false, false]
  const reported = new Set<string>()
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
    onLost: (lost) => {
      if (!reported.has(lostLine(lost))) environment.onLost(lost)
      reported.add(lostLine(lost))
    },
    onStep: (step) => {
      isSwapping = step === 'swap'
      return environment.onStep(step)
    },
  }
  for (;;) {
    try {
      return await replayOnce(consumer, { ...request, restart: request.restart && !hasBegun }, watched)
    } catch (error) {
      if (!(error instanceof Error) || !unavailablePart(error) || isSwapping || pauses === MAX_PAUSES) throw error
      pauses += 1
      environment.onPause(error)
      await sleep(PAUSE_MS)
    }
  }
}

async function replayOnce(
  consumer: Consumer,
  request: ReplayRequest,
  environment: ReplayEnvironment,
): Promise<ReplayOutcome> {
  const { adminUrl, onBegin } = environment
  const { name, schema: live, role, migrations, version: serviceVersion, settledUntil } = consumer
  const tableSources = { ...consumer.tables, ...coreTableSources }
  const schemas: Schemas = { live, rebuilt: shadowOf(live) }
  return withClient(adminUrl, async (client) => {
    await requireAlone(client, live)
    await dropReplaced(client, live)
    const { restart } = request
    const code = environment.code ?? (await codeFingerprint(consumer))
    const resumedFrom = await openShadow(client, { adminUrl, role, migrations, live, code, tableSources, restart })
    const url = withoutFlush(adminUrl)
    const db = openCommitDb({ url, schema: schemas.rebuilt, applicationName: `nextvisit replay ${name}` })
    const keys = await openUserKeys(name, environment)
    try {
      const { userKeys } = keys
      const context = { ...environment, serviceVersion, settledUntil, client, db, schemas, userKeys }
      const sources = await sourcesOf(consumer, context)
      const remaining = await Promise.all(sources.map((source) => source.remaining()))
      onBegin({ resumedFrom, remaining: remaining.reduce((sum, records) => sum + records, 0) })
      return await replay({ ...environment, ...request, client, schemas, sources, tableSources, migrations })
    } finally {
      await keys.close()
      await db.$disconnect()
    }
  })
}

/** Opens the keys of users for a rebuild, which reads them into its own schema. Without a ring, there are none. */
async function openUserKeys(
  projection: string,
  { keyRing: ring, connection }: Pick<ReplayEnvironment, 'keyRing' | 'connection'>,
): Promise<{ readonly userKeys?: UserKeys; readonly close: () => Promise<void> }> {
  if (!ring) return { close: () => Promise.resolve() }
  const logAdmin = createLogAdmin(connection)
  await logAdmin.connect()
  const topic = USER_KEYS_TOPIC
  const parts = { ring, projection, topic, connection, readMarks: logAdmin.watermarks, pullWithinMs: Infinity }
  const userKeys = createUserKeys(parts)
  const close = async () => {
    userKeys.stop()
    await logAdmin.disconnect().catch(() => {})
  }
  return { userKeys, close }
}

/** Returns the topics that the consumer folds live, and those that it publishes itself. */
async function sourcesOf(consumer: Consumer, context: RebuildContext): Promise<readonly RebuildSource[]> {
  const { partitions: expected } = context.connection
  const asked = { topic: TOPICS.userEvents, expected, foldedBy: USER_PROJECTOR_GROUP }
  const countKeyPartitions = () => withLogAdmin(context.connection, (admin) => readKeyPartitions(admin, asked))
  const projection = consumer.projection(offlineParts(countKeyPartitions))
  const live = liveTopic(context, projection)
  if (!consumer.published) return [live]
  const published = consumer.published(await countKeyPartitions())
  return [live, publishedTopic(context, published)]
}

/**
 * Returns an address without synchronous commits. A crash of a rebuild loses rows and checkpoint together, and the commit
 * of the swap flushes everything before it.
 */
function withoutFlush(url: string): string {
  const own = new URL(url)
  const given = own.searchParams.get('options')
  own.searchParams.set('options', `${given ? `${given} ` : ''}-c synchronous_commit=off`)
  return own.href
}
