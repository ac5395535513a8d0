import { createHash } from 'node:crypto'
import { answerGiven, eventTracked, identifyRequested, userErased } from '@nextvisit/contracts/fixtures'
import type { FetchedRecord } from '@nextvisit/log'
import { describe, expect, it } from 'vitest'
import { createProductKey, type ProductKey, sealedRecord } from '../test/product.ts'
import { createCatalog } from './catalog.ts'
import { createFences } from './erasures.ts'
import { createFindings } from './findings.ts'
import { createFold } from './fold.ts'
import { createEvaluationModel } from './evaluation-model.ts'
import { createQueueModel } from './queue-model.ts'
import { readUserFact } from './read-fact.ts'
import { createSegmentChangesModel } from './segment-changes.ts'
import { createSecretKeys } from './secret-keys.ts'
import { type DeadLetter, recordRefOf, type Snapshot } from './snapshot.ts'
import { createUserKeys } from './user-keys.ts'
import { userIdOf } from './uuid-v5.ts'

const PARTITION = 3
const RING = 'ab'.repeat(32)
const BEFORE = Date.parse('2026-11-02T10:00:00.000Z')
const ALL = { first: '0', last: 'z' }

const userId = userIdOf('acme', 'shop', 'ada')
const identify = identifyRequested({ userId, operations: { set: { plan: 'pro' } } })
const event = eventTracked({ userId })
const fence = userErased({ userId })
const old = createProductKey(RING, userId, BEFORE)
const later = createProductKey(RING, userId, Date.parse(fence.keysUntil) + 1)

/** Returns the records of a log, each sealed with a key. */
function logOf(...facts: readonly (readonly [fact: { id: string; type: string }, by?: ProductKey])[]): FetchedRecord[] {
  return facts.map(([fact, key = old], offset) => recordAt(offset, sealedRecord(fact, key)))
}

function recordAt(offset: number, content: Pick<FetchedRecord, 'value' | 'headers'>): FetchedRecord {
  const place = { topic: 'user-events', partition: PARTITION, offset: BigInt(offset) }
  return { ...place, timestampMs: 0, key: Buffer.from(userId), ...content }
}

interface Given {
  readonly service?: Snapshot['service']
  readonly log: readonly FetchedRecord[]
  /** Keys in the topic. Default: none. */
  readonly keys?: readonly ProductKey[]
  /** Default: the end of the log. */
  readonly checkpoint?: number
  readonly letters?: readonly DeadLetter[]
  /** Rows by their table. */
  readonly rows?: Readonly<Record<string, readonly object[]>>
}

/** Returns the kinds of the findings about a consumer. */
async function kindsOf(given: Given): Promise<readonly string[]> {
  const { service = 'user-projector', log, keys = [], checkpoint = log.length, letters = [], rows = {} } = given
  const [findings, catalog, fences] = [createFindings(), createCatalog(), createFences()]
  const texts = new Map(keys.map(({ name, wrapped }) => [name, wrapped]))
  const userKeys = createUserKeys(texts, createSecretKeys(RING))
  const evaluation = createEvaluationModel(findings, catalog)
  const queue = createQueueModel({
    findings,
    catalog,
    isAtRest: false,
    mayBeOffered: () => false,
    isErased: () => false,
  })
  const snapshot: Snapshot = {
    service,
    checkpoints: new Map([[PARTITION, BigInt(checkpoint)]]),
    deadLetters: new Map(letters.map((letter) => [recordRefOf(letter), letter])),
    rows: async function* found<Row>(sql: string) {
      for (const [table, all] of Object.entries(rows)) {
        if (new RegExp(` FROM ${table}\\b`).test(sql)) yield* all as readonly Row[]
      }
    } as Snapshot['rows'],
    close: async () => {},
  }
  const fold = createFold({
    snapshot,
    log: new Map(),
    catalog,
    queue,
    evaluation,
    segmentChanges: createSegmentChangesModel({ isErased: () => false, findings }),
    fences,
    isAtRest: false,
    findings,
  })
  log.forEach(fences.see)
  for (const record of log) {
    const reading = readUserFact(record)
    const open = () =>
      reading.outcome === 'read' && reading.fact.type !== 'UserErased' ? userKeys.open(reading.fact) : undefined
    fold.fold(record, reading, { isMine: true, isFirstPass: true, open })
  }
  await fold.compareUsers(ALL)
  await fold.compareShared()
  return findings
    .byKind()
    .map(({ kind }) => kind)
    .filter((kind) => !kind.startsWith('checkpoints') && !isOfFences(kind, given))
    .toSorted()
}

/** Most specs have no rows of fences. */
function isOfFences(kind: string, { rows = {} }: Given): boolean {
  return kind.includes('erased_users') && !rows['erased_users']
}

const row = {
  organization: 'acme',
  project: 'shop',
  userId,
  userName: 'ada',
  traits: '{"plan":"pro"}',
  traitBytes: 11,
  dropped: 0,
  country: null,
  device: '{}',
  firstSeenAt: identify.received,
  lastSeenAt: identify.received,
  asOf: null,
  segments: [],
}
const users = { users: [row] }

describe('an erased user', () => {
  const log = logOf([identify], [event], [fence])

  it.each([
    ['its keys are destroyed', []],
    ['its keys are still there, or were published again', [old]],
  ])('has no rows once the fence is folded: %s', async (_when, keys) => {
    for (const service of ['user-projector', 'form-trigger-evaluator'] as const)
      expect(await kindsOf({ service, log, keys })).toEqual([])
    expect(await kindsOf({ log, keys, rows: users })).toEqual(['users.users: not in the log'])
  })

  it('has rows before the fence is folded, which are compared while the keys are there', async () => {
    const before = { log, checkpoint: 1, keys: [old] }
    expect(await kindsOf({ ...before, rows: users })).toEqual([])
    expect(await kindsOf(before)).toEqual(['users.users: missing'])
    expect(await kindsOf({ ...before, rows: { users: [{ ...row, traits: '{}' }] } })).toEqual(['users.users: traits'])
  })

  it('may or may not have rows before the fence is folded, once the keys are destroyed', async () => {
    for (const rows of [users, {}]) expect(await kindsOf({ log, checkpoint: 1, rows })).toEqual([])
  })

  it('has no rows of a record in flight, which an older key sealed', async () => {
    const inFlight = logOf([fence], [identify])
    for (const keys of [[], [old]]) {
      expect(await kindsOf({ log: inFlight, keys })).toEqual([])
      expect(await kindsOf({ log: inFlight, keys, rows: users })).toEqual(['users.users: not in the log'])
    }
  })

  it('returns as a new user', async () => {
    const returned = logOf([identify], [fence], [{ ...identify, id: fence.id }, later])
    expect(await kindsOf({ log: returned, keys: [later], rows: users })).toEqual([])
    expect(await kindsOf({ log: returned, keys: [old, later] })).toEqual(['users.users: missing'])
  })

  it('is not erased again by a copy of the fence', async () => {
    const copied = logOf([identify], [fence], [{ ...identify, id: fence.id }, later], [fence])
    expect(await kindsOf({ log: copied, keys: [later], rows: users })).toEqual([])
  })

  it('does not return by a request that is repeated', async () => {
    const keyed = { ...identify, keyed: true }
    const repeated = logOf([keyed], [fence], [keyed, later])
    expect(await kindsOf({ log: repeated, keys: [later] })).toEqual([])
  })

  it('stays in counters, which name nobody', async () => {
    const kinds = ['missing', 'not in the log'].map((what) => `metering.usage: ${what}`)
    expect(await kindsOf({ service: 'metering', log })).toEqual(expect.arrayContaining([kinds[0]]))
    expect(await kindsOf({ service: 'metering', log: logOf([fence]) })).toEqual([])
  })
})

/** Returns a row of usage. */
const usageOf = (events: number, identifies: number) => ({
  usage: [{ organization: 'acme', project: 'shop', month: '2026-11', environment: 'P', events, identifies, visits: 0 }],
})

describe('an answer', () => {
  const answer = answerGiven({ userId, keyed: true })
  const log = logOf([identify], [answer], [answer])

  it('changes the kept answers and no other row of any consumer, and its duplicate changes nothing', async () => {
    const { received, offerId } = answer
    const times = { keptSince: received, endedAt: received }
    const kept = {
      ...row,
      formId: 'nps',
      offerId,
      status: 'finished',
      ...times,
      answers: '{"score":9}',
      otherOffers: '{}',
    }
    expect(await kindsOf({ log, keys: [old], rows: { ...users, form_answers: [kept] } })).toEqual([])
    const differing = { ...kept, answers: '{"score":8}' }
    expect(await kindsOf({ log, keys: [old], rows: { ...users, form_answers: [differing] } })).toEqual([
      'users.form_answers: answers',
    ])
    expect(await kindsOf({ log, keys: [old], rows: users })).toEqual(['users.form_answers: missing'])
    const kinds = async (rows: Given['rows'] & object) =>
      (await kindsOf({ service: 'metering', log, rows })).filter((kind) => kind.startsWith('metering.usage'))
    expect(await kinds(usageOf(0, 1))).toEqual([])
    expect(await kinds(usageOf(1, 1))).toEqual(['metering.usage: events'])
    expect(await kindsOf({ service: 'trait-registry', log: logOf([answer]) })).toEqual([])
  })

  it('whose key is gone leaves its user out of the comparison', async () => {
    const sealedLater = logOf([identify], [answer, later])
    expect(await kindsOf({ log: sealedLater, keys: [old], rows: users })).toEqual([])
  })

  it('in clear is a dead letter of every consumer', async () => {
    const { headers } = logOf([answer])[0] ?? {}
    const inClear = recordAt(0, { value: Buffer.from(JSON.stringify(answer)), headers: headers ?? {} })
    expect(await kindsOf({ service: 'metering', log: [inClear] })).toEqual(['dead letters: missing'])
  })
})

const poison = (offset: number) => recordAt(offset, { value: Buffer.from('ada, in clear'), headers: {} })
const letter = (offset: number, valueSha256: string | null) => {
  return { partition: PARTITION, offset: BigInt(offset), state: 'dead', valueSha256 }
}
const erasedAfter = (first: FetchedRecord) => [first, ...logOf([identify], [fence]).slice(1)]

describe('erased_users', () => {
  const log = logOf([identify], [fence])
  const { organization, project, erasureId, keysUntil } = fence
  const fenceRow = { organization, project, userId, partition: PARTITION, offset: 1, keysUntil, erasureId }

  it.each(['user-projector', 'metering'] as const)('has the last fence that %s has passed', async (service) => {
    const kinds = async (erased: readonly object[], given: Partial<Given> = {}) => {
      const found = await kindsOf({ service, log, rows: { erased_users: erased }, ...given })
      return found.filter((kind) => kind.includes('erased_users'))
    }
    expect(await kinds([fenceRow])).toEqual([])
    expect(await kinds([])).toEqual([`${service} erased_users: missing`])
    expect(await kinds([{ ...fenceRow, offset: 0 }])).toEqual([`${service} erased_users: offset`])
    expect(await kinds([fenceRow], { checkpoint: 1 })).toEqual([`${service} erased_users: not in the log`])
  })

  it('leaves no fenced key', async () => {
    const erased = { erased_users: [fenceRow] }
    const keyRow = { userId, keyId: later.id, keysUntil }
    expect(await kindsOf({ log, rows: { ...erased, user_keys: [keyRow] } })).toEqual([])
    const fenced = { ...keyRow, keyId: old.id }
    expect(await kindsOf({ log, rows: { ...erased, user_keys: [fenced] } })).toEqual([
      'user-projector user_keys: fenced',
    ])
  })
})

describe('dead letters', () => {
  const sha256 = createHash('sha256').update('ada, in clear').digest('hex')

  it('of an erased user have lost their bytes, and are not missing', async () => {
    const log = erasedAfter(poison(0))
    for (const letters of [[letter(0, null)], []]) expect(await kindsOf({ log, letters })).toEqual([])
    expect(await kindsOf({ log, letters: [letter(0, sha256)] })).toEqual(['dead letters: not erased'])
  })

  it('have their bytes before the fence is folded, and after it', async () => {
    const before = { log: erasedAfter(poison(0)), checkpoint: 1 }
    expect(await kindsOf({ ...before, letters: [letter(0, sha256)] })).toEqual([])
    expect(await kindsOf({ ...before, letters: [letter(0, null)] })).toEqual(['dead letters: other bytes'])
    const after = { log: [...logOf([fence]), poison(1)] }
    expect(await kindsOf({ ...after, letters: [letter(1, sha256)] })).toEqual([])
    expect(await kindsOf({ ...after, letters: [] })).toEqual(['dead letters: missing'])
  })

  it('are the identifies whose sealed members cannot be opened, in consumers that open them', async () => {
    const [record] = logOf([identify])
    const damaged = { ...JSON.parse(String(record?.value)), id: fence.id }
    const value = Buffer.from(JSON.stringify(damaged))
    const log = [recordAt(0, { value, headers: record?.headers ?? {} })]
    const letters = [letter(0, createHash('sha256').update(value).digest('hex'))]
    expect(await kindsOf({ log, keys: [old], letters })).toEqual([])
    expect(await kindsOf({ log, keys: [old] })).toEqual(['dead letters: missing'])
    const service = 'trait-registry'
    expect(await kindsOf({ service, log, letters })).toEqual(expect.arrayContaining(['dead letters: readable']))
  })
})

it('the clear list of traits must be that of the sealed operations', async () => {
  const log = logOf([{ ...identify, traits: ['other'] } as typeof identify])
  expect(await kindsOf({ log, keys: [old], rows: users })).toEqual(['user-events: traits'])
})
