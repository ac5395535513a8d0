import { randomUUID } from 'node:crypto'
import {
  catalogKeyOf,
  type CatalogState,
  type Change,
  contentInWords,
  contentKeyOf,
  type DescribeContent,
  diffOrganization,
  nextRevision,
  readCatalog,
  type ReadCatalog,
  type RecordedContent,
} from '@nextvisit/catalog'
import { encodeRecord, type OrganizationConfig, type OrganizationConfigured, TOPICS } from '@nextvisit/contracts'
import { createPublisher, type LogConnection, type RecordSequence } from '@nextvisit/log'
import { type ChangeAuthor, createChangeLog } from '@nextvisit/operator-changes'
import type { KeyRing } from '@nextvisit/sealing'
import { findRefusal } from './find-refusal.ts'
import { missingSecretKey } from './missing-secret-key.ts'
import { settleContents, type WantedContent } from './settle-contents.ts'
import { settleSecrets } from './settle-secrets.ts'
import { endOfApply, wantedChangeOf } from './wanted-change.ts'

export interface ApplyOptions {
  readonly connection: LogConnection
  /** Organizations from `parseWorkspaceFile`. */
  readonly organizations: readonly OrganizationConfig[]
  /** The contents of their forms. */
  readonly contents: readonly WantedContent[]
  /** Removes organizations that are not named. */
  readonly prune?: boolean
  /** Also replaces revisions of a later version that this one does not understand. */
  readonly overwrite?: boolean
  /** Computes the difference and publishes nothing. */
  readonly dryRun?: boolean
  /** The operating system's name for the user who applies. */
  readonly appliedBy: string
  /** The operator, as in the record of the change. Default: `appliedBy`. */
  readonly author?: ChangeAuthor
  /** The workspace file, for the record of the change. */
  readonly file?: string
  /** The keys of NEXTVISIT_SECRET_KEY; needed to compare a secret of the file with the stored one. */
  readonly keyRing?: KeyRing | undefined
  /** Default: now. */
  readonly now?: Date
  /** Receives the difference, and is awaited, before anything is published. */
  readonly onDifference?: (changes: readonly Change[]) => void | Promise<void>
  /** Topic of the catalog. Default: `catalog`. */
  readonly topic?: string
}

type Applying = ApplyOptions & { readonly now: Date }

export type ApplyOutcome =
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'dry-run'; readonly changes: readonly Change[] }
  /** All records are in the log and count. */
  | {
      readonly outcome: 'applied'
      readonly changes: readonly Change[]
      readonly revisions: ReadonlyMap<string, number>
      /** Number of unchanged secrets that moved to the newest key. */
      readonly reencrypted: number
    }
  /** The change cannot be written to `operator-changes`, and nothing was published. */
  | { readonly outcome: 'not-recorded' }
  /** The file was refused, and nothing was published. */
  | { readonly outcome: 'refused'; readonly reason: string }
  /** Another process's record for the same revision precedes ours for `lost`; the log has no record of ours for `missing`. */
  | { readonly outcome: 'not-applied'; readonly lost: readonly string[]; readonly missing: readonly string[] }

const PUBLISH_WITHIN_MS = 10_000
/** Contents in one round of publishing: a few MB. */
const CONTENTS_A_ROUND = 100

/**
 * Publishes a record for each organization that differs from the catalog, then reads back the records that count
 * (decisions.md, The workspace file). Organizations that are not named stay unchanged, unless `prune`. Rejects if the log
 * is unavailable; running it again is always safe.
 */
export async function applyWorkspace({ now = new Date(), ...given }: ApplyOptions): Promise<ApplyOutcome> {
  const options = { ...given, now }
  const { connection, topic = TOPICS.catalog, onDifference = () => {} } = options
  const catalog = await readCatalog(connection, topic, { withFormContents: true })
  const { state } = catalog
  const differing = differences(state, options)
  const changes = differing.flatMap((organization) => organization.changes)
  await onDifference(changes)
  const records = toRecords(state, differing, options)
  const reason = findRefusal(state, options, records) ?? (await missingSecretKey(connection, topic, state, differing))
  if (reason !== undefined) return { outcome: 'refused', reason }
  if (options.dryRun) return { outcome: 'dry-run', changes }
  if (records.length === 0) return { outcome: 'unchanged' }
  const contents = differing.flatMap((organization) => organization.contents)
  const reencrypted = differing.reduce((sum, organization) => sum + organization.reencrypted, 0)
  const log = createChangeLog(connection, { source: 'cli' })
  try {
    const recorded = await log.record(
      authorOf(options),
      records.map((record) => wantedChangeOf(state, record, changesOf(differing, record), options.file)),
      async () => {
        await publishAll(options, catalog, records, contents)
        return readBack(connection, topic, records, { changes, reencrypted })
      },
      (applied, nth) => endOfApply(applied.outcome === 'not-applied' ? applied : {}, records[nth]?.organization ?? ''),
    )
    return recorded.outcome === 'recorded' ? recorded.result : recorded
  } finally {
    await log.stop()
  }
}

function authorOf({ author, appliedBy }: Applying): ChangeAuthor {
  return author ?? { actor: { kind: 'command', name: appliedBy, isVerified: false } }
}

function changesOf(
  differing: readonly DifferingOrganization[],
  { organization }: OrganizationConfigured,
): readonly Change[] {
  return differing.find(({ id }) => id === organization)?.changes ?? []
}

function toRecords(
  state: CatalogState,
  differing: readonly DifferingOrganization[],
  { appliedBy, now }: Applying,
): readonly OrganizationConfigured[] {
  const appliedAt = now.toISOString()
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
  /** Number of secrets that are only re-encrypted. */
  readonly reencrypted: number
  /** Contents of its forms that are not in the log. */
  readonly contents: readonly RecordedContent[]
}

function differences(state: CatalogState, options: Applying): readonly DifferingOrganization[] {
  const named = new Set(options.organizations.map((organization) => organization.id))
  const removed = options.prune ? [...state.organizations.keys()].filter((id) => !named.has(id)) : []
  const wanted: readonly { readonly id: string; readonly config: OrganizationConfig | null }[] = [
    ...options.organizations.map((config) => ({ id: config.id, config })),
    ...removed.map((id) => ({ id, config: null })),
  ]
  return wanted.map((one) => difference(state, one, options)).filter(({ changes }) => changes.length > 0)
}

function difference(
  state: CatalogState,
  { id, config }: Pick<DifferingOrganization, 'id' | 'config'>,
  options: Applying,
): DifferingOrganization {
  const held = state.organizations.get(id)?.config
  const unread = unreadChange(state, id)
  if (!config) {
    return { id, config, reencrypted: 0, contents: [], changes: [...unread, ...diffOrganization(id, held, config)] }
  }
  const { wanted, contents } = settleContents(held, config, options.contents, nextRevision(state, id))
  const settled = held && settleSecrets(held, wanted, options.keyRing, options.now)
  const reencrypted = settled?.reencrypted ?? []
  return {
    id,
    config: settled?.wanted ?? wanted,
    reencrypted: reencrypted.length,
    contents: contents.filter((content) => isMissing(state, content)),
    changes: [
      ...unread,
      ...diffOrganization(id, settled?.held, settled?.wanted ?? wanted, describeAmong(contents)),
      ...reencrypted.map(({ project, what }) => reencryptedChange(`${id}/${project}`, what, options.keyRing)),
    ],
  }
}

function isMissing({ contents }: CatalogState, { formId, revision, hash, ...place }: RecordedContent): boolean {
  return contents?.check(place, formId, { revision, hash }).outcome === 'missing'
}

function describeAmong(contents: readonly RecordedContent[]): DescribeContent {
  return (project, formId) => {
    const found = contents.find((one) => one.project === project && one.formId === formId)
    return found && contentInWords(found.content)
  }
}

function reencryptedChange(where: string, what: string, keyRing: KeyRing | undefined): Change {
  return { sign: '~', where, what: `${what} (re-encrypted with key ${keyRing?.newestKeyId})` }
}

/** Returns the change for a record that is not understood or in part not in the log, which differs from every file. */
function unreadChange(state: CatalogState, id: string): readonly Change[] {
  const problem = state.organizations.get(id)?.problem
  if (!problem) return []
  const because = problem.isUndecodable
    ? 'cannot be decoded'
    : problem.isMissingContent
      ? 'lacks contents of forms'
      : 'not understood'
  return [{ sign: '~', where: id, what: `revision ${problem.revision ?? '?'} (${because})` }]
}

/**
 * Publishes all records, and before each record the contents that it refers to. A record whose contents may not be in the log
 * is not published. The outcome is read back later, which also covers lost answers. Before each
 * record, the older ones of its organization become tombstones, so that compaction drops them. The current one stays,
 * because it counts until the new record is in the log. Contents stay, too: offers and answers refer to them.
 */
async function publishAll(
  { connection, topic = TOPICS.catalog }: ApplyOptions,
  { replacedKeys }: ReadCatalog,
  records: readonly OrganizationConfigured[],
  contents: readonly RecordedContent[],
): Promise<void> {
  const publisher = createPublisher(connection)
  await publisher.start()
  try {
    const deadlineAt = performance.now() + PUBLISH_WITHIN_MS
    const sequences = new Map(
      records.map(({ organization }): [string, RecordSequence] => [organization, { isBroken: false }]),
    )
    const send = (messages: readonly Message[]) =>
      Promise.all(
        messages.map(({ organization, ...message }) =>
          publisher.publish({ topic, partition: 0, ...message }, deadlineAt, sequences.get(organization)),
        ),
      )
    const ofContents = contents.map(contentMessage)
    for (let sent = 0; sent < ofContents.length; sent += CONTENTS_A_ROUND)
      await send(ofContents.slice(sent, sent + CONTENTS_A_ROUND))
    await send(
      records.flatMap((record): readonly Message[] => {
        const { organization, appliedAt: time } = record
        return [
          ...(replacedKeys.get(organization) ?? []).map((key) => ({ organization, key, value: null, headers: {} })),
          { organization, key: catalogKeyOf(record), ...encodeRecord(record, { source: 'cli', time }) },
        ]
      }),
    )
  } finally {
    await publisher.stop(PUBLISH_WITHIN_MS)
  }
}

/** A record of the topic, and the organization whose sequence it is in. */
interface Message {
  readonly organization: string
  readonly key: string
  readonly value: string | null
  readonly headers: Readonly<Record<string, string>>
}

function contentMessage(content: RecordedContent): Message {
  const time = new Date().toISOString()
  const record = { type: 'FormContentApplied', id: randomUUID(), ...content, appliedAt: time }
  return {
    organization: content.organization,
    key: contentKeyOf(content),
    ...encodeRecord(record, { source: 'cli', time }),
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
