import { createHash } from 'node:crypto'
import type { UserKeys } from '@nextvisit/consumer'
import { encodeRecord, type UserFact } from '@nextvisit/contracts'
import {
  answerGiven,
  eventTracked,
  userErased,
  userIdFixture,
  visit,
  visitAnswered,
} from '@nextvisit/contracts/fixtures'
import { keysUntilMsOf, newKeyTimeMs, queuedIdOf } from '@nextvisit/domain'
import type { FetchedRecord } from '@nextvisit/log'
import { createDataKey, type DataKey, parseKeyRing } from '@nextvisit/sealing'
import * as fc from 'fast-check'

/** A record of a user. `isStale`: it comes through a gateway that still has the user's first key. */
export interface ErasureStep {
  readonly userName: 'ada' | 'bob'
  readonly what: 'visit' | 'event' | 'confirmation' | 'answer' | 'erasure' | 'second copy'
  readonly isStale: boolean
}

/** Steps of two users, with some erasures. */
export const erasureSteps: fc.Arbitrary<ErasureStep[]> = fc.array(
  fc.record({
    userName: fc.constantFrom('ada' as const, 'bob' as const),
    what: fc.oneof(
      { weight: 3, arbitrary: fc.constant('visit' as const) },
      { weight: 4, arbitrary: fc.constant('event' as const) },
      { weight: 2, arbitrary: fc.constant('confirmation' as const) },
      { weight: 2, arbitrary: fc.constant('answer' as const) },
      { weight: 2, arbitrary: fc.constant('erasure' as const) },
      { weight: 1, arbitrary: fc.constant('second copy' as const) },
    ),
    isStale: fc.boolean(),
  }),
  { minLength: 4, maxLength: 20 },
)

const START = Date.parse('2026-11-02T10:00:00.000Z')
const MINUTE = 60_000
/** The form that each event queues. */
const FORM = 'nps'

/** A story of erasures: its records from offset 0 of a partition, and the rule by which they count. */
export interface ErasureStory {
  readonly records: readonly FetchedRecord[]
  /** The records that count in the end, without those of erasures: after the last fence of their user, sealed by a later key. */
  readonly counting: readonly FetchedRecord[]
  /** Every data key of the story. */
  readonly keys: UserKeys
  /** The keys that no erasure destroys. */
  readonly keptKeys: UserKeys
}

/** Tells a story in the partition 0 of `user-events`, a minute a step. */
export function tellErasures(steps: readonly ErasureStep[], replyTo?: string): ErasureStory {
  const users = new Map(['ada', 'bob'].map((userName) => [userName, createUser(userName)]))
  const told = steps.map(({ userName, what, isStale }, index) => {
    const user = users.get(userName) ?? createUser(userName)
    const atMs = START + index * MINUTE
    const fact = user.factOf(what, atMs, index)
    const key = user.keyAt(atMs, isStale)
    const seal = (text: string, context: string) => ({ key: key.id, bytes: key.seal(text, context) })
    const { value, headers } = encodeRecord(fact, { source: 'test', time: fact.received, seal, replyTo })
    const record: FetchedRecord = {
      topic: 'user-events',
      partition: 0,
      offset: BigInt(index),
      timestampMs: atMs,
      key: Buffer.from(fact.userId),
      value: Buffer.from(value),
      headers,
    }
    if (fact.type === 'UserErased') user.noteFence(fact.id, index, Date.parse(fact.keysUntil))
    const isSealed = value.includes('"sealed"')
    return { record, fact, keyMs: isSealed ? user.timeOf(key) : Infinity, user, index }
  })
  const counting = told.filter(({ fact, user, index, keyMs }) => {
    return fact.type !== 'UserErased' && index > user.fence().index && keyMs > user.fence().keysUntilMs
  })
  const all = [...users.values()].flatMap((user) => user.keys())
  return {
    records: told.map(({ record }) => record),
    counting: counting.map(({ record }) => record),
    keys: keysOf(all.map(({ name, key }) => [name, key])),
    keptKeys: keysOf(all.flatMap(({ name, key, isKept }) => (isKept ? [[name, key] as const] : []))),
  }
}

const parsed = parseKeyRing('74657374'.repeat(8))

/** A user of a story, with the keys and fences so far. */
function createUser(userName: string) {
  if (parsed.outcome === 'invalid') throw new TypeError(parsed.reason)
  const { ring } = parsed
  const userId = userIdFixture(userName)
  const created: { readonly key: DataKey; readonly ms: number }[] = []
  const fences = new Map<string, { readonly index: number; readonly keysUntilMs: number }>()
  let lastErasure: UserFact | undefined
  let lastQueuedId: string | undefined

  const fence = () => [...fences.values()].at(-1) ?? { index: -1, keysUntilMs: -Infinity }
  const create = (ms: number): DataKey => {
    const { key } = createDataKey(ring, userId, ms)
    created.push({ key, ms })
    return key
  }
  create(START - MINUTE)

  return {
    fence,
    noteFence: (id: string, index: number, keysUntilMs: number): void => {
      if (!fences.has(id)) fences.set(id, { index, keysUntilMs })
    },
    timeOf: (key: DataKey): number => created.find((one) => one.key === key)?.ms ?? 0,
    /** The last key, unless it is fenced. */
    keyAt: (ms: number, isStale: boolean): DataKey => {
      const known = isStale ? created[0] : created.at(-1)
      if (known && (isStale || known.ms > fence().keysUntilMs)) return known.key
      return create(newKeyTimeMs(ms, fence().keysUntilMs))
    },
    keys: () => created.map(({ key, ms }) => ({ name: `${userId}/${key.id}`, key, isKept: ms > fence().keysUntilMs })),
    factOf: (what: ErasureStep['what'], ms: number, index: number): UserFact => {
      const received = new Date(ms).toISOString()
      if (what === 'visit')
        return visit({ userName, received, operations: { set: { plan: 'pro' }, increment: { visits: 1 } } })
      if (what === 'answer') {
        const offer = { offerId: lastQueuedId ?? stableId(index), formId: FORM }
        return answerGiven({ userName, received, ...offer, status: index % 3 === 0 ? 'finished' : 'partial' })
      }
      if (what === 'confirmation' && lastQueuedId !== undefined)
        return visitAnswered({ userId, received, visitId: stableId(index), queuedId: lastQueuedId, formId: FORM })
      if (what === 'second copy' && lastErasure) return lastErasure
      if (what === 'erasure') {
        const keysUntil = new Date(keysUntilMsOf(ms, fence().keysUntilMs)).toISOString()
        return (lastErasure = userErased({ userName, received, keysUntil }))
      }
      const event = eventTracked({ userName, received, ...(index % 2 === 0 && { properties: { total: index } }) })
      lastQueuedId = queuedIdOf(event.id, received, FORM)
      return event
    },
  }
}

function stableId(index: number): string {
  const hex = createHash('sha256').update(String(index)).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function keysOf(known: readonly (readonly [string, DataKey])[]): UserKeys {
  const keys = new Map(known)
  return {
    find: async (_db, wanted) =>
      new Map(
        [...wanted.keys()].flatMap((name) => (keys.has(name) ? [[name, keys.get(name) ?? 'damaged'] as const] : [])),
      ),
    pull: () => Promise.resolve(),
    keepOnly: () => {},
    stop: () => {},
  }
}
