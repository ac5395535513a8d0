import { randomUUID } from 'node:crypto'
import {
  catalogKeyOf,
  type CatalogState,
  type Change,
  diffOrganization,
  nextRevision,
  readCatalog,
  type ReadCatalog,
} from '@nextvisit/catalog'
import { encodeRecord, type OrganizationConfig, type OrganizationConfigured, TOPICS } from '@nextvisit/contracts'
import { createPublisher, type LogConnection } from '@nextvisit/log'
import type { KeyRing } from '@nextvisit/sealing'
import { missingSecretKey } from './missing-secret-key.ts'
import { settleSigningSecrets } from './settle-signing-secrets.ts'

export interface ApplyOptions {
  readonly connection: LogConnection
  /** Organizations from `parseWorkspaceFile`. */
  readonly organizations: readonly OrganizationConfig[]
  /** Removes organizations that are not named. */
  readonly prune?: boolean
  /** Also replaces revisions of a later version that this one does not understand. */
  readonly overwrite?: boolean
  /** Computes the difference and publishes nothing. */
  readonly dryRun?: boolean
  /** The operating system's name for the user who applies. */
  readonly appliedBy: string
  /** The keys of NEXTVISIT_SECRET_KEY; needed to compare a signing secret of the file with the stored one. */
  readonly keyRing?: KeyRing | undefined
  /** Receives the difference, and is awaited, before anything is published. */
  readonly onDifference?: (changes: readonly Change[]) => void | Promise<void>
  /** Topic of the catalog. Default: `catalog`. */
  readonly topic?: string
}

export type ApplyOutcome =
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'dry-run'; readonly changes: readonly Change[] }
  /** All records are in the log and count. */
  | {
      readonly outcome: 'applied'
      readonly changes: readonly Change[]
      readonly revisions: ReadonlyMap<string, number>
      /** Number of unchanged signing secrets that moved to the newest key. */
      readonly reencrypted: number
    }
  /** The file was refused, and nothing was published. */
  | { readonly outcome: 'refused'; readonly reason: string }
  /** Another process's record for the same revision precedes ours for `lost`; the log has no record of ours for `missing`. */
  | { readonly outcome: 'not-applied'; readonly lost: readonly string[]; readonly missing: readonly string[] }

const PUBLISH_WITHIN_MS = 10_000
/** Maximum record size in bytes: a broker's default maximum (1 MiB) minus room for headers. */
const MAX_RECORD_BYTES = 900_000

/**
 * Publishes a record for each organization that differs from the catalog, then reads back the records that count
 * (decisions.md, The workspace file). Organizations that are not named stay unchanged, unless `prune`. Rejects if the log
 * is unavailable; running it again is always safe.
 */
export async function applyWorkspace(options: ApplyOptions): Promise<ApplyOutcome> {
  const { connection, topic = TOPICS.catalog, onDifference = () => {} } = options
  const catalog = await readCatalog(connection, topic)
  const { state } = catalog
  const differing = differences(state, options)
  const changes = differing.flatMap((organization) => organization.changes)
  await onDifference(changes)
  const records = toRecords(state, differing, options.appliedBy)
  const reason =
    notUnderstood(state, options) ??
    keyOfAnother(state, options) ??
    tooLarge(records) ??
    (await missingSecretKey(connection, topic, state, differing))
  if (reason !== undefined) return { outcome: 'refused', reason }
  if (options.dryRun) return { outcome: 'dry-run', changes }
  if (records.length === 0) return { outcome: 'unchanged' }
  await publishAll(options, catalog, records)
  const reencrypted = differing.reduce((sum, organization) => sum + organization.reencrypted, 0)
  return readBack(connection, topic, records, { changes, reencrypted })
}

function toRecords(
  state: CatalogState,
  differing: readonly DifferingOrganization[],
  appliedBy: string,
): readonly OrganizationConfigured[] {
  const appliedAt = new Date().toISOString()
  return differing.map(({ id, config }) => ({
    type: 'OrganizationConfigured',
    id: randomUUID(),
    organization: id,
    revision: nextRevision(state, id),
    config,
    appliedAt,
    appliedBy,
  }))
}

interface DifferingOrganization {
  readonly id: string
  readonly config: OrganizationConfig | null
  readonly changes: readonly Change[]
  /** Number of signing secrets that are only re-encrypted. */
  readonly reencrypted: number
}

function differences(state: CatalogState, options: ApplyOptions): readonly DifferingOrganization[] {
  const named = new Set(options.organizations.map((organization) => organization.id))
  const removed = options.prune ? [...state.organizations.keys()].filter((id) => !named.has(id)) : []
  const wanted: readonly { readonly id: string; readonly config: OrganizationConfig | null }[] = [
    ...options.organizations.map((config) => ({ id: config.id, config })),
    ...removed.map((id) => ({ id, config: null })),
  ]
  return wanted
    .map(({ id, config }) => {
      const held = state.organizations.get(id)?.config
      if (!config || !held) {
        return {
          id,
          config,
          reencrypted: 0,
          changes: [...unreadChange(state, id), ...diffOrganization(id, held, config)],
        }
      }
      const settled = settleSigningSecrets(held, config, options.keyRing)
      const changes = [
        ...unreadChange(state, id),
        ...diffOrganization(id, settled.held, settled.wanted),
        ...settled.reencrypted.map((project) => reencryptedChange(`${id}/${project}`, options.keyRing)),
      ]
      return { id, config: settled.wanted, reencrypted: settled.reencrypted.length, changes }
    })
    .filter(({ changes }) => changes.length > 0)
}

function reencryptedChange(where: string, keyRing: KeyRing | undefined): Change {
  return { sign: '~', where, what: `signingSecret (re-encrypted with key ${keyRing?.newestKeyId})` }
}

/** Returns the change for a record that is not understood or cannot be decoded, which differs from every file. */
function unreadChange(state: CatalogState, id: string): readonly Change[] {
  const problem = state.organizations.get(id)?.problem
  if (!problem) return []
  const because = problem.isUndecodable ? 'cannot be decoded' : 'not understood'
  return [{ sign: '~', where: id, what: `revision ${problem.revision ?? '?'} (${because})` }]
}

/** Returns a refusal if the file would replace a revision of a later version, which this version's file cannot express. */
function notUnderstood(state: CatalogState, options: ApplyOptions): string | undefined {
  if (options.overwrite) return undefined
  const named = new Set(options.organizations.map(({ id }) => id))
  const lost = [...state.organizations.values()].flatMap(({ problem }) => problem ?? [])
  const found = lost.find(
    ({ organization, isUndecodable }) => !isUndecodable && (options.prune || named.has(organization)),
  )
  if (!found) return undefined
  const { organization, revision, reason } = found
  return (
    `This version of nextvisit does not understand revision ${revision ?? '?'} of ${organization} in the catalog: ${reason}. ` +
    'Apply with the version that wrote it, or use --overwrite to replace that revision.'
  )
}

/** Returns a refusal if a key already belongs to another organization, including those that the file does not name. */
function keyOfAnother(state: CatalogState, { organizations, prune }: ApplyOptions): string | undefined {
  const named = new Set(organizations.map((organization) => organization.id))
  for (const { id, projects } of organizations) {
    for (const key of projects.flatMap((project) => project.keys)) {
      const holder = state.keys.get(key.sha256)?.[0]?.project.organization
      if (holder !== undefined && !named.has(holder) && !prune) {
        return `Key ${key.name} of organization ${id} already belongs to organization ${holder}; create another with \`nextvisit keys create\`.`
      }
    }
  }
  return undefined
}

function tooLarge(records: readonly OrganizationConfigured[]): string | undefined {
  const record = records.find((one) => Buffer.byteLength(JSON.stringify(one)) > MAX_RECORD_BYTES)
  if (!record) return undefined
  return `Organization ${record.organization} is larger than ${MAX_RECORD_BYTES} bytes; split it into several.`
}

/**
 * Publishes all records. Their outcome is read back later, which also covers lost answers. Before each
 * record, the older ones of its organization become tombstones, so that compaction drops them. The current one stays,
 * because it counts until the new record is in the log.
 */
async function publishAll(
  { connection, topic = TOPICS.catalog }: ApplyOptions,
  { replacedKeys }: ReadCatalog,
  records: readonly OrganizationConfigured[],
): Promise<void> {
  const publisher = createPublisher(connection)
  await publisher.start()
  try {
    const deadlineAt = performance.now() + PUBLISH_WITHIN_MS
    const messages = records.flatMap((record) => [
      ...(replacedKeys.get(record.organization) ?? []).map((key) => ({ key, value: null, headers: {} })),
      { key: catalogKeyOf(record), ...encodeRecord(record, { source: 'cli', time: record.appliedAt }) },
    ])
    await Promise.all(messages.map((message) => publisher.publish({ topic, partition: 0, ...message }, deadlineAt)))
  } finally {
    await publisher.stop(PUBLISH_WITHIN_MS)
  }
}

async function readBack(
  connection: LogConnection,
  topic: string,
  records: readonly OrganizationConfigured[],
  applied: Pick<Extract<ApplyOutcome, { outcome: 'applied' }>, 'changes' | 'reencrypted'>,
): Promise<ApplyOutcome> {
  const { state, counted } = await readCatalog(connection, topic)
  const failed = records.filter((record) => !counted.has(record.id))
  if (failed.length === 0) {
    const revisions = new Map(records.map(({ organization, revision }) => [organization, revision]))
    return { outcome: 'applied', ...applied, revisions }
  }
  const isTaken = (record: OrganizationConfigured): boolean =>
    (state.organizations.get(record.organization)?.latestRevision ?? 0) >= record.revision
  return {
    outcome: 'not-applied',
    lost: failed.filter(isTaken).map((record) => record.organization),
    missing: failed.filter((record) => !isTaken(record)).map((record) => record.organization),
  }
}
