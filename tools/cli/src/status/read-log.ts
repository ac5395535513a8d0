import { readCatalog } from '@nextvisit/catalog'
import { SINGLE_PARTITION_TOPICS, TOPICS } from '@nextvisit/contracts'
import { type LogConnection, PartitionsChangedError, type Watermarks, withLogAdmin } from '@nextvisit/log'
import type { RunningViews } from '@nextvisit/catalog'
import type { KeyRing } from '@nextvisit/sealing'
import { awaitViews } from '../workspace/await-views.ts'
import { type SecretKeyStatus, secretKeysOf } from './secret-keys.ts'
import type { StoredKeys } from './stored-keys.ts'

export interface LogState {
  /** Watermarks by topic and partition. */
  readonly watermarks: ReadonlyMap<string, ReadonlyMap<number, Watermarks>>
  /** Messages about topics whose number of partitions differs from `KAFKA_PARTITIONS`, and about a missing one. */
  readonly changedTopics: readonly string[]
  /** Organizations with their revision and the numbers of their projects and keys. */
  readonly organizations: readonly {
    readonly organization: string
    readonly revision: number
    readonly projects: number
    readonly keys: number
  }[]
  readonly secretKeys: readonly SecretKeyStatus[]
  /** Catalog revisions of the running processes. */
  readonly services: RunningViews
}

/** Reads the ends of the log, the catalog and the running processes. */
export async function readLog(
  connection: LogConnection,
  keyRing: KeyRing | undefined,
  storedKeys: Promise<StoredKeys>,
  now: Date,
): Promise<LogState> {
  const [{ state }, stored] = await Promise.all([readCatalog(connection, TOPICS.catalog), storedKeys])
  const services = await awaitViews({ connection, withinMs: 0 })
  const topics = [TOPICS.userEvents, TOPICS.formEvents, TOPICS.erasures]
  const [watermarks, hasChanges] = await withLogAdmin(connection, (admin) =>
    Promise.all([
      Promise.all(topics.map(async (topic) => [topic, await admin.watermarks(topic)] as const)),
      admin.partitionCount(TOPICS.operatorChanges).then((count) => count > 0),
    ]),
  )
  const organizations = [...state.organizations].flatMap(
    ([organization, { latestRevision: revision, config, problem }]) => {
      if (!config && !problem) return []
      const projects = config?.projects ?? []
      const keys = projects.reduce((sum, project) => sum + project.keys.length, 0)
      return [{ organization, revision, projects: projects.length, keys }]
    },
  )
  const changedTopics = [
    ...watermarks.flatMap(([topic, { size }]) => changeOf(connection, topic, size) ?? []),
    ...(hasChanges ? [] : [NO_CHANGES]),
  ]
  const secretKeys = secretKeysOf(state, services, keyRing, stored, now)
  return { watermarks: new Map(watermarks), changedTopics, organizations, secretKeys, services }
}

const NO_CHANGES = `There is no topic ${TOPICS.operatorChanges}, so operators can change nothing: run nextvisit topics create.`

function changeOf({ partitions }: LogConnection, topic: string, found: number): string | undefined {
  const expected = SINGLE_PARTITION_TOPICS.has(topic) ? 1 : partitions?.inTopic
  if (expected === undefined || found === expected) return undefined
  return new PartitionsChangedError(topic, found, expected).message
}
