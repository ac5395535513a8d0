import {
  openFact,
  type SealedUserFact,
  type UserErased,
  type UserFact,
  type UserFence,
  type UserKeys,
  type UserRef,
} from '@nextvisit/contracts'
import { type Fence, isFenced } from '@nextvisit/domain'
import { type DataKey, type KeyRing, SECRET_KEY_VARIABLE, unwrapDataKey } from '@nextvisit/sealing'
import type { ApiResult } from '../http/api-route.ts'

/** A record on `user-events`, as far as it may be shown. */
export type OpenedRecord =
  | { readonly outcome: 'opened'; readonly fact: UserFact }
  /** An erasure covers it. */
  | { readonly outcome: 'erased'; readonly fact: SealedUserFact }
  /** Its content cannot be read; `reason` is a sentence. */
  | { readonly outcome: 'sealed'; readonly fact: SealedUserFact; readonly reason: string }

export interface NamedFence extends Fence {
  readonly erasureId: string
}

/** Returns the fence that a record of the log is. */
export function fenceOfFact({ keysUntil, erasureId }: UserErased, offset: bigint): NamedFence {
  return { offset, keysUntilMs: Date.parse(keysUntil), erasureId }
}

/** Converts the fence that the user projector has folded. */
export function fenceOfUser({ offset, keysUntil, erasureId }: UserFence): NamedFence {
  return { offset: BigInt(offset), keysUntilMs: Date.parse(keysUntil), erasureId }
}

/** Opens records of one user. */
export interface RecordOpener {
  /** The last erasure that the user projector has folded; undefined: none, or the projector does not answer. */
  readonly fence: NamedFence | undefined
  readonly open: (record: { readonly offset: bigint; readonly fact: SealedUserFact }) => OpenedRecord
}

interface RecordOpenerParts {
  /** The keys of NEXTVISIT_SECRET_KEY; undefined if it is not set. */
  readonly keyRing: KeyRing | undefined
  /** The user's keys, or the refusal of the user projector. */
  readonly keys: ApiResult<UserKeys>
}

/** A key, or a sentence about why there is none. */
type UserKey = DataKey | string

/**
 * Creates an opener with the keys that the user projector has. A record whose content cannot be read names its obstacle. While
 * the projector does not answer, nothing is opened: whether the user is erased is unknown.
 */
export function createRecordOpener({ keyRing, keys }: RecordOpenerParts, { userId }: UserRef): RecordOpener {
  const user = keys.outcome === 'answered' ? keys.answer : undefined
  const wrapped = new Map(user?.keys.map((key) => [key.keyId, key.wrapped]))
  const unwrapped = new Map<string, UserKey>()
  const fence = user?.fence && fenceOfUser(user.fence)

  function keyOf(keyId: string): UserKey {
    const text = wrapped.get(keyId)
    if (text === undefined) return NO_KEY
    const key = unwrapped.get(keyId) ?? unwrap(keyId, text)
    unwrapped.set(keyId, key)
    return key
  }

  function unwrap(keyId: string, text: string): UserKey {
    if (!keyRing) return `This console has no ${SECRET_KEY_VARIABLE}.`
    const result = unwrapDataKey(keyRing, { userId, keyId, wrapped: text })
    switch (result.outcome) {
      case 'unwrapped':
        return result.key
      case 'missing-key':
        return `The console's ${SECRET_KEY_VARIABLE} lacks key ${result.keyId}.`
      case 'damaged':
        return 'The stored key of the user is damaged.'
    }
  }

  return {
    fence,
    open: ({ offset, fact }) => {
      if (fence && isFenced({ offset, fact }, fence)) return { outcome: 'erased', fact }
      if (keys.outcome === 'refused') return { outcome: 'sealed', fact, reason: keys.message }
      if (!('sealed' in fact) || fact.sealed === undefined) return { outcome: 'opened', fact: fact as UserFact }
      const key = keyOf(fact.sealed.key)
      if (typeof key === 'string') return { outcome: 'sealed', fact, reason: key }
      const opened = openFact(fact, key.open)
      return opened.outcome === 'ok'
        ? { outcome: 'opened', fact: opened.fact }
        : { outcome: 'sealed', fact, reason: 'The content is damaged.' }
    },
  }
}

const NO_KEY = 'Its key is destroyed, or the user projector has not read it yet.'
