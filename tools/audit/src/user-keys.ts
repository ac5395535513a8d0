import { readWatermarks, type LogConnection } from '@nextvisit/log'
import type { ClearFact, FormAnswered, Sealed, UserFact } from './facts.ts'
import { readAll } from './read-all.ts'
import { readSealedMembers } from './read-fact.ts'
import { decryptMembers, type SecretKeys } from './secret-keys.ts'

/** Number of unwrapped keys in memory. */
const UNWRAPPED = 10_000

export type Opened =
  | { readonly outcome: 'opened'; readonly fact: UserFact }
  /** The key is destroyed. */
  | { readonly outcome: 'lost' }
  /** The bytes were changed or moved, or their text is no valid record. */
  | { readonly outcome: 'damaged'; readonly because: string }

export type OpenedAnswers =
  | { readonly outcome: 'opened'; readonly answers: Readonly<Record<string, unknown>> }
  | Exclude<Opened, { readonly outcome: 'opened' }>

/** The keys of some users. */
export interface UserKeys {
  /** Opens the members of a record that describe the person, if a table is folded from them. */
  readonly open: (fact: Exclude<ClearFact, { type: 'UserErased' }>) => Opened
  /** Opens the answers of an outcome, which are sealed as those of its `AnswerGiven`. */
  readonly openAnswers: (fact: FormAnswered) => OpenedAnswers
}

type SealedFact = Exclude<ClearFact, { type: 'UserErased' | 'VisitAnswered' }> | FormAnswered
type OpenedMembers =
  | { readonly outcome: 'opened'; readonly members: object }
  | Exclude<Opened, { readonly outcome: 'opened' }>

interface UserKeysOptions {
  readonly connection: LogConnection
  readonly topic: string
  readonly secretKeys: SecretKeys
  readonly isMine: (userId: string) => boolean
}

/** Reads the keys that the topic contains now of the users of a pass: about 300 bytes each. */
export async function readUserKeys(options: UserKeysOptions): Promise<UserKeys> {
  const { connection, topic, isMine } = options
  /** Wrapped keys by `userId/keyId`. */
  const wrapped = new Map<string, string>()
  await readAll(connection, topic, await readWatermarks(connection, topic), ({ key, value }) => {
    const name = String(key)
    if (!isMine(name.split('/', 1)[0] ?? '')) return
    if (value === null) wrapped.delete(name)
    else wrapped.set(name, value.toString('latin1'))
  })
  return createUserKeys(wrapped, options.secretKeys)
}

/** Creates keys from their wrapped texts by `userId/keyId`. */
export function createUserKeys(wrapped: ReadonlyMap<string, string>, secretKeys: SecretKeys): UserKeys {
  const unwrapped = new Map<string, Buffer | 'damaged' | undefined>()

  const keyOf = (name: string): Buffer | 'damaged' | undefined => {
    if (unwrapped.has(name)) return unwrapped.get(name)
    if (unwrapped.size === UNWRAPPED) unwrapped.clear()
    const text = wrapped.get(name)
    const key = text === undefined ? undefined : (secretKeys.unwrap(text, `user-key:${name}`) ?? 'damaged')
    unwrapped.set(name, key)
    return key
  }

  const membersOf = ({ type, id, userId }: SealedFact, sealed: Sealed): OpenedMembers => {
    const key = keyOf(`${userId}/${sealed.key}`)
    if (!key) return { outcome: 'lost' }
    if (key === 'damaged') return { outcome: 'damaged', because: 'its key is damaged' }
    const text = decryptMembers(key, Buffer.from(sealed.bytes, 'base64'), `${id}/${userId}`)
    if (text === undefined) return { outcome: 'damaged', because: 'its sealed bytes are of another record, or damaged' }
    const members = readSealedMembers(type, text)
    if (members.outcome === 'unreadable') return { outcome: 'damaged', because: members.because }
    return { outcome: 'opened', members: members.fact }
  }

  return {
    open: (fact) => {
      if (fact.type === 'VisitAnswered') return { outcome: 'opened', fact }
      const { sealed, ...clear } = fact
      if (!sealed) return { outcome: 'opened', fact: clear as UserFact }
      const opened = membersOf(fact, sealed)
      return opened.outcome === 'opened'
        ? { outcome: 'opened', fact: { ...clear, ...opened.members } as UserFact }
        : opened
    },

    openAnswers: (fact) => {
      const opened = membersOf(fact, fact.sealed)
      if (opened.outcome !== 'opened') return opened
      const { answers = {} } = opened.members as { readonly answers?: Readonly<Record<string, unknown>> }
      return { outcome: 'opened', answers }
    },
  }
}
