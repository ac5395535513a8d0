import {
  decodeRecord,
  type FormContentApplied,
  FormContentEnvelope,
  HEADERS,
  type KeyEntry,
  type NotUnderstood,
  type OrganizationConfig,
  type OrganizationConfigured,
  OrganizationConfiguredEnvelope,
  readKeys,
  readOrganizationConfig,
} from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import type { RecordedContent } from './form-contents.ts'

/** The user who applied a record, and the ISO instant, if the record has them. */
interface Applied {
  readonly at: string | undefined
  readonly by: string | undefined
}

/** A record of the catalog, as far as this version understands it (decision 0012). */
export type CatalogRecord =
  | {
      readonly outcome: 'read'
      readonly id: string
      readonly organization: string
      readonly revision: number
      /** null removes the organization. */
      readonly config: OrganizationConfig | null
      readonly notUnderstood: readonly NotUnderstood[]
      readonly applied?: Applied
    }
  /** Only the organization, the understood keys and, if it can be read, the revision are known. */
  | {
      readonly outcome: 'unreadable'
      readonly organization: string
      readonly revision: number | undefined
      /** By project. */
      readonly keys: ReadonlyMap<string, readonly KeyEntry[]>
      readonly reason: string
      readonly applied?: Applied
    }
  /** The content of a form. */
  | { readonly outcome: 'content'; readonly content: RecordedContent }
  /** The record names no organization, or is an unreadable content of a form. */
  | { readonly outcome: 'skipped'; readonly reason: string }
  /** The record only marks an older one for compaction. */
  | { readonly outcome: 'tombstone' }

const {
  organization: Organization,
  revision: Revision,
  appliedAt: At,
  appliedBy: By,
} = OrganizationConfiguredEnvelope.shape

/** Reads a record of the catalog. Never throws for data. */
export function readCatalogRecord(record: Pick<FetchedRecord, 'key' | 'value' | 'headers'>): CatalogRecord {
  const { value, headers } = record
  if (value === null) return { outcome: 'tombstone' }
  if (isFormContent(record)) {
    const content = decodeRecord(FormContentEnvelope, value, headers)
    return content.outcome === 'ok'
      ? { outcome: 'content', content: content.fact }
      : { outcome: 'skipped', reason: `content of a form: ${content.reason}` }
  }
  const decoded = decodeRecord(OrganizationConfiguredEnvelope, value, headers)
  if (decoded.outcome === 'rejected') return unreadable(record, decoded.reason)
  const { id, organization, revision, config, appliedAt: at, appliedBy: by } = decoded.fact
  const own = { id, organization, revision, applied: { at, by } }
  if (config === null) return { outcome: 'read', ...own, config, notUnderstood: [] }
  const reading = readOrganizationConfig(config)
  if (reading.outcome === 'unreadable') return unreadable(record, `config.${reading.reason}`)
  return { ...reading, ...own }
}

/** Returns true for the content of a form, by its headers: readers that keep no contents need not read it. */
export function isFormContent({ headers }: Pick<FetchedRecord, 'headers'>): boolean {
  const type: FormContentApplied['type'] = 'FormContentApplied'
  return headers[HEADERS.type] === type
}

/** Returns the batch that a record stands for, if it cannot be decoded. */
export function undecodableBatchIn({
  offset,
  undecodable,
}: Pick<FetchedRecord, 'offset' | 'undecodable'>): { readonly error: Error; readonly records: number } | undefined {
  return undecodable && { error: undecodable.error, records: Number(undecodable.lastOffset - offset) + 1 }
}

/** Returns the Kafka key of a record. Each record has its own, so that compaction never removes it because of a later one. */
export function catalogKeyOf({ organization, revision, id }: OrganizationConfigured): string {
  return `${organization}/${revision}/${id}`
}

/** Returns the Kafka key of a form's content. Each content has its own, so that compaction keeps it. */
export function contentKeyOf({
  organization,
  project,
  formId,
  revision,
  hash,
}: Omit<RecordedContent, 'content'>): string {
  return `${organization}/content/${project}/${formId}/${revision}/${hash}`
}

function unreadable({ key, value }: Pick<FetchedRecord, 'key' | 'value'>, reason: string): CatalogRecord {
  const json = parse(value)
  const organization =
    Organization.safeParse(json['organization']).data ??
    Organization.safeParse(key?.toString('utf8').split('/', 1)[0]).data
  if (organization === undefined) return { outcome: 'skipped', reason }
  return {
    outcome: 'unreadable',
    organization,
    revision: Revision.safeParse(json['revision']).data,
    keys: readKeys(json['config']),
    reason,
    applied: { at: At.parse(json['appliedAt']), by: By.parse(json['appliedBy']) },
  }
}

function parse(value: Buffer | null): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(value?.toString('utf8') ?? '')) as Readonly<Record<string, unknown>>
  } catch {
    return {}
  }
}
