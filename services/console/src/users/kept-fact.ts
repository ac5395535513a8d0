import { type AnyUserFact, firstCharacters, isActivityFact } from '@nextvisit/contracts'
import { type Fence, isFencedPlace } from '@nextvisit/domain'
import type { Mask } from '../http/mask.ts'
import { boundedEntry } from './bounded-entry.ts'
import type { OpenedRecord } from './open-records.ts'
import { detail, entryOf, type FactEntry } from './fact-entries.ts'

/** A fact as the timeline holds it: its bounded entry, without the values that the entry does not show. */
export interface KeptFact {
  readonly entry: FactEntry
  /** Event or visit for which the project's forms were evaluated; undefined: the fact evaluates no forms. */
  readonly asked: { readonly event: string } | 'visit' | undefined
  readonly offset: bigint
  /** Id of the key that sealed its content; undefined: nothing of it is sealed. */
  readonly keyId: string | undefined
  /** Why the content cannot be read, in a sentence; undefined: it can, or it is erased. */
  readonly unread: string | undefined
}

export function keptFactOf(
  record: OpenedRecord,
  { offset, keyId }: Pick<KeptFact, 'offset' | 'keyId'>,
  mask: Mask,
): KeptFact {
  const { fact } = record
  return {
    entry: boundedEntry(shownEntryOf(record, mask)),
    asked: askedBy(fact),
    offset,
    keyId,
    unread: record.outcome === 'sealed' ? record.reason : undefined,
  }
}

function shownEntryOf(record: OpenedRecord, mask: Mask): FactEntry {
  if (record.outcome === 'opened') return entryOf(record.fact, mask)
  const entry = entryOf(record.fact, mask)
  if (record.outcome === 'erased') return erasedEntryOf(entry)
  return { ...entry, details: [detail('content', record.reason), ...entry.details] }
}

/** Returns the entry of a fact that an erasure covers: the fact happened, and its content is gone. */
function erasedEntryOf({ id, at, kind, title, requestId }: FactEntry): FactEntry {
  return { id, at, kind, title, requestId, details: [], isErased: true }
}

/** Returns a fact without its content, if the fence covers it. */
export function behindFence(fact: KeptFact, fence: Fence): KeptFact {
  return isFencedPlace(fact, fence) ? { ...fact, entry: erasedEntryOf(fact.entry), unread: undefined } : fact
}

/** More than any slug of the product. */
const MAX_SLUG = 300

function askedBy(fact: AnyUserFact): KeptFact['asked'] {
  if (!isActivityFact(fact)) return undefined
  if (fact.type === 'EventTracked')
    return fact.evaluateTriggers ? { event: firstCharacters(fact.slug, MAX_SLUG) } : undefined
  return fact.source === 'sdk' ? 'visit' : undefined
}
