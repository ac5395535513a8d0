import { sealingContextOf } from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import type { Fences } from './fences.ts'
import type { UserKeyOpener } from './user-key-opener.ts'

/**
 * The content of a record that may be shown. `published`: as it is in the log. `erased`: nothing, because an erasure covers it.
 * An object: the value with its opened members in place of `sealed`.
 */
export type ShownContent = 'published' | 'erased' | object

/** Returns what may be shown of a record. `value`: its value as JSON; undefined: it is no JSON. */
export type ShowContent = (record: FetchedRecord, value: unknown) => ShownContent

interface ShowContentParts {
  readonly fences: Fences
  readonly keys: UserKeyOpener
  /** Receives a record of a user that exists whose sealed members cannot be opened. */
  readonly onClosed?: () => void
}

/** Creates a function that opens the records of users that exist, and hides those of erased users whatever keys there are. */
export function createShowContent({ fences, keys, onClosed = () => {} }: ShowContentParts): ShowContent {
  return (record, value) => {
    if (fences.isErased(record, value)) return 'erased'
    if (!isSealed(value)) return 'published'
    const opened = openMembers(value, keys)
    if (!opened) onClosed()
    return opened ?? 'published'
  }
}

interface SealedValue {
  readonly id: string
  readonly userId: string
  readonly sealed: { readonly key: string; readonly bytes: string }
}

function openMembers({ sealed, ...clear }: SealedValue, keys: UserKeyOpener): object | undefined {
  const text = keys.keyOf(clear.userId, sealed.key)?.open(sealed.bytes, sealingContextOf(clear))
  const members = text === undefined ? undefined : parse(text)
  // A sealed member replaces no clear one.
  return isObject(members) ? { ...clear, ...members, ...clear } : undefined
}

function isSealed(value: unknown): value is SealedValue {
  if (!isObject(value) || !isObject(value['sealed'])) return false
  const { key, bytes } = value['sealed']
  return [value['id'], value['userId'], key, bytes].every((member) => typeof member === 'string')
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
