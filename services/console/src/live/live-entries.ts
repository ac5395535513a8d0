import {
  decodeRecord,
  SealedFormFact,
  isRequestFact,
  isSegmentFact,
  type KeptRefusal,
  type ProjectRef,
  SealedUserFact,
} from '@nextvisit/contracts'
import { keyIdOf } from '@nextvisit/domain'
import type { FetchedRecord } from '@nextvisit/log'
import { isSameProject } from '../catalog/known-catalog.ts'
import { HIDE_PERSONAL } from '../http/mask.ts'
import { boundedEntry, shortText } from '../users/bounded-entry.ts'
import { entryOf, formEntryOf } from '../users/fact-entries.ts'
import type { Input } from '../api-routes.ts'
import type { LiveEntry } from './api.ts'

/** An entry in memory: small, and without values. The user is named on read. */
export interface KeptEntry {
  readonly entry: LiveEntry
  /** Of a record on user-events: its offset, and the key that sealed its content. Of a changed membership, its cause. An erasure may cover it. */
  readonly record?: { readonly offset: bigint; readonly keyId: string | undefined }
  /** Slug of the event; undefined: not about an event, or not known. */
  readonly event: string | undefined
}

/** Larger records are not shown: no service writes one. */
const MAX_RECORD_BYTES = 2 ** 20

/** Converts a record of user-events. An unreadable one gives no entry: it is a dead letter of each consumer. */
export function userEntriesOf(record: FetchedRecord): readonly KeptEntry[] {
  const fact = userFactOf(record)
  if (!fact) return []
  return [{ ...userEntry(fact), record: { offset: record.offset, keyId: keyIdOf(fact) } }]
}

/** Decodes a record of user-events, and opens nothing. undefined: it is unreadable. */
export function userFactOf({ value, headers }: FetchedRecord): SealedUserFact | undefined {
  if ((value?.byteLength ?? 0) > MAX_RECORD_BYTES) return undefined
  const decoded = decodeRecord(SealedUserFact, value, headers)
  return decoded.outcome === 'ok' ? decoded.fact : undefined
}

/** Converts a record of form-events. */
export function formEntriesOf({ value, headers }: FetchedRecord): readonly KeptEntry[] {
  if ((value?.byteLength ?? 0) > MAX_RECORD_BYTES) return []
  const decoded = decodeRecord(SealedFormFact, value, headers)
  return decoded.outcome === 'ok' ? [formEntry(decoded.fact)] : []
}

function userEntry(fact: SealedUserFact): KeptEntry {
  const { organization, project, userId } = fact
  const { details: _, moreDetails: __, ...entry } = boundedEntry(entryOf(fact, HIDE_PERSONAL))
  const common = { ...entry, organization, project, userId, userName: null, refusal: null }
  if (!isRequestFact(fact)) return { entry: { ...common, marks: [] }, event: undefined }
  const marks = [
    ...(fact.environment === 'T' ? ['test key'] : []),
    ...('imported' in fact && fact.imported ? ['imported'] : []),
    ...(fact.type === 'EventTracked' && fact.newEvent ? ['new event'] : []),
    ...(fact.type === 'EventTracked' && !fact.evaluateTriggers && !fact.imported ? ['too old for triggers'] : []),
    // Another program may have written thousands.
    ...Array.from(new Set(fact.unchecked), (check) => `unchecked: ${check}`),
  ]
  const event = fact.type === 'EventTracked' ? shortText(fact.slug) : undefined
  return { entry: { ...common, marks }, event }
}

function formEntry(fact: SealedFormFact): KeptEntry {
  const { organization, project, userId } = fact
  const { details: _, ...entry } = formEntryOf(fact)
  const about = { organization, project, userId, userName: null, marks: [], refusal: null }
  const kept = { entry: { ...entry, ...about }, event: undefined }
  if (!isSegmentFact(fact)) return kept
  return { ...kept, record: { offset: BigInt(fact.causeOffset), keyId: undefined } }
}

/** Converts a refusal. Kept refusals quote nothing of their caller. */
export function refusalEntry({ organization, project }: ProjectRef, refusal: KeptRefusal): KeptEntry {
  const { id, at, reason, status, message, route, item, key, userId, event, requestId } = refusal
  const entry: LiveEntry = {
    id,
    at,
    kind: 'refused',
    organization,
    project,
    userId: userId ?? null,
    userName: null,
    title: message,
    marks: key.environment === 'T' ? ['test key'] : [],
    refusal: { reason, status, route: item === undefined ? route : `${route}, item ${item}`, key: key.name },
    requestId,
  }
  return { entry, event }
}

/** Selects entries. undefined: any. */
export interface LiveQuery {
  readonly project: ProjectRef | undefined
  /** Slug of an event. */
  readonly event: string | undefined
  readonly outcome: Input<'readLive'>['outcome']
  /** Projects whose refusals pass. */
  readonly refusalsOf: readonly ProjectRef[]
  /** `cursor` of the previous answer. */
  readonly after: string | undefined
}

const OUTCOMES: { readonly [Kind in LiveEntry['kind']]: NonNullable<LiveQuery['outcome']> } = {
  identify: 'recorded',
  event: 'recorded',
  visit: 'recorded',
  offered: 'recorded',
  answer: 'recorded',
  segment: 'recorded',
  queued: 'queued',
  delivered: 'delivered',
  expired: 'ended',
  cancelled: 'ended',
  refused: 'refused',
  erased: 'ended',
}

export function passesFilter({ entry, event }: KeptEntry, filter: Omit<LiveQuery, 'after'>): boolean {
  const { project, outcome } = filter
  if (project && !isSameProject(project, entry)) return false
  if (entry.kind === 'refused' && !filter.refusalsOf.some((other) => isSameProject(other, entry))) return false
  if (filter.event !== undefined && event !== filter.event) return false
  return outcome === undefined || OUTCOMES[entry.kind] === outcome
}
