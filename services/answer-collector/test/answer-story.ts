import type { UserKeys } from '@nextvisit/consumer'
import { type Answers, encodeRecord, type FormFact } from '@nextvisit/contracts'
import {
  answerGiven,
  formAnswered,
  formDelivered,
  formExpired,
  formQueued,
  queueErased,
  userIdFixture,
} from '@nextvisit/contracts/fixtures'
import { keysUntilMsOf, newKeyTimeMs, uuidV5 } from '@nextvisit/domain'
import type { FetchedRecord } from '@nextvisit/log'
import { createDataKey, type DataKey } from '@nextvisit/sealing'
import { testKeyRing } from '@nextvisit/testing'
import * as fc from 'fast-check'

const NAMESPACE = 'e1c55cb5-3a47-4d0c-9a06-2d7f1f1c6a3e'
const START = Date.parse('2026-11-02T23:00:00.000Z')
const MINUTE = 60_000

const answers: fc.Arbitrary<Answers> = fc.record(
  {
    score: fc.integer({ min: 0, max: 10 }),
    plan: fc.constantFrom('monthly', 'yearly', { other: 'Barter' }),
    uses: fc.uniqueArray(fc.constantFrom('work', 'home'), { maxLength: 2 }),
    contact: fc.boolean(),
    reason: fc.constantFrom('Too slow', ''),
  },
  { requiredKeys: [] },
)
const TYPES = { score: 'nps', plan: 'choice', uses: 'choices', contact: 'consent', reason: 'text' } as const

const anyStep = fc.record({
  userName: fc.constantFrom('ada', 'bob'),
  what: fc.oneof(
    { weight: 3, arbitrary: fc.constant('queue' as const) },
    { weight: 2, arbitrary: fc.constant('deliver' as const) },
    { weight: 1, arbitrary: fc.constant('expire' as const) },
    { weight: 6, arbitrary: fc.constant('answer' as const) },
    { weight: 1, arbitrary: fc.constant('erase' as const) },
  ),
  status: fc.constantFrom('partial', 'partial', 'finished', 'dismissed'),
  language: fc.constantFrom('en', 'de', undefined),
  environment: fc.constantFrom('P' as const, 'T' as const),
  answers,
})
type Step = typeof anyStep extends fc.Arbitrary<infer One> ? One : never

/** Steps of two users, and the records that come a second time: after how many others, and which of those before. */
export const answerStory = fc.record({
  steps: fc.array(anyStep, { minLength: 4, maxLength: 25 }),
  repeats: fc.array(fc.record({ after: fc.nat(24), nth: fc.nat(24) }), { maxLength: 6 }),
})

interface Told {
  readonly records: readonly FetchedRecord[]
  /** The same with repeats. */
  readonly repeated: readonly FetchedRecord[]
  /** Every data key. */
  readonly keys: UserKeys
  /** The keys that no erasure destroys. */
  readonly keptKeys: UserKeys
}

/** Tells a story as the evaluator would, a minute a step. */
export function tellAnswers({
  steps,
  repeats,
}: typeof answerStory extends fc.Arbitrary<infer One> ? One : never): Told {
  const users = new Map(['ada', 'bob'].map((userName) => [userName, createUser(userName)]))
  const values = steps.flatMap((one, index) => users.get(one.userName)?.take(one, index) ?? [])
  const repeated = values.flatMap((value, index) => [
    value,
    ...repeats.flatMap(({ after, nth }) => (after === index ? (values[nth % (index + 1)] ?? []) : [])),
  ])
  const all = [...users.values()].flatMap((user) => user.keys())
  return {
    records: asLog(values),
    repeated: asLog(repeated),
    keys: keysOf(all),
    keptKeys: keysOf(all.filter(({ isKept }) => isKept)),
  }
}

type Value = Pick<FetchedRecord, 'value' | 'headers' | 'key'>

function asLog(values: readonly Value[]): readonly FetchedRecord[] {
  return values.map((value, index) => {
    return { ...value, topic: 'form-events', partition: 0, offset: BigInt(index), timestampMs: START + index }
  })
}

interface Row {
  readonly queuedId: string
  isEnded: boolean
}

function createUser(userName: string) {
  const userId = userIdFixture(userName)
  const created: { readonly key: DataKey; readonly ms: number }[] = []
  let rows: Row[] = []
  let keysUntilMs = -Infinity

  function keyAt(ms: number): DataKey {
    const last = created.at(-1)
    if (last && last.ms > keysUntilMs) return last.key
    const createdMs = newKeyTimeMs(ms, keysUntilMs)
    const { key } = createDataKey(testKeyRing, userId, createdMs)
    created.push({ key, ms: createdMs })
    return key
  }

  function factOf(step: Step, index: number): FormFact | undefined {
    const { what, status, language, environment } = step
    const ms = START + index * MINUTE
    const at = new Date(ms).toISOString()
    const row = rows.at(-1)
    const of = { userName, at }
    const id = uuidV5(String(index), NAMESPACE)
    if (what === 'queue') {
      const queued = formQueued({ ...of, queuedId: id, environment, causeId: id, causeOffset: index })
      rows.push({ queuedId: id, isEnded: false })
      return queued
    }
    if (what === 'erase') {
      rows = []
      keysUntilMs = keysUntilMsOf(ms, keysUntilMs)
      const keysUntil = new Date(keysUntilMs).toISOString()
      return queueErased({ ...of, id, erasureId: id, causeOffset: index, keysUntil })
    }
    if (what === 'deliver' || what === 'expire') {
      if (!row) return undefined
      const { queuedId } = row
      if (what === 'expire') return formExpired({ ...of, queuedId })
      return formDelivered({ ...of, queuedId, visitId: id, environment, ...(language && { language }) })
    }
    const outcome = row ? (row.isEnded ? 'late' : 'recorded') : 'unmatched'
    if (row && status !== 'partial') row.isEnded = true
    const elements = Object.fromEntries(
      Object.entries(TYPES).filter(([element]) => Object.hasOwn(step.answers, element)),
    )
    const given = answerGiven({ userName, id, received: at, offerId: row?.queuedId ?? id, environment, elements })
    return formAnswered({ ...given, status, answers: step.answers, ...(language && { language }) }, { outcome })
  }

  return {
    keys: () => created.map(({ key, ms }) => ({ name: `${userId}/${key.id}`, key, isKept: ms > keysUntilMs })),
    take: (one: Step, index: number): readonly Value[] => {
      const ms = START + index * MINUTE
      const fact = factOf(one, index)
      if (!fact) return []
      const seal = (text: string, context: string) => {
        const key = keyAt(ms)
        return { key: key.id, bytes: key.seal(text, context) }
      }
      const { value, headers } = encodeRecord(fact, { source: 'test', time: new Date(ms).toISOString(), seal })
      return [{ key: Buffer.from(userId), value: Buffer.from(value), headers }]
    },
  }
}

function keysOf(known: readonly { readonly name: string; readonly key: DataKey }[]): UserKeys {
  const keys = new Map(known.map(({ name, key }) => [name, key]))
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
