import { once } from 'node:events'
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { type Barrier, erasedUsers, evolveDraft, offlineParts, userKeys } from '@nextvisit/consumer'
import { type TraitOperations, type UserFact, userProjectorCalls, type UserReadModel } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, userIdFixture, visitAnswered } from '@nextvisit/contracts/fixtures'
import { type CommitDb, createAdapter, openCommitDb } from '@nextvisit/database'
import { partitionForKey } from '@nextvisit/log'
import { createDataKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { createCallClient, type CallOptions, sendLocally } from '@nextvisit/service-kit'
import { createTestDatabase, type TestDatabase } from '@nextvisit/testing'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { PrismaClient } from '../generated/prisma/client.ts'
import { userProjector } from './consumer.ts'
import { emptyDraft } from './draft.ts'
import { readUser, readUserKeys, readUserNames } from './queries.ts'
import { createProjection } from './projection.ts'

const context = { catalog: staticCatalog([]), mode: 'live', partition: 0 } as const

let database: TestDatabase
let prisma: PrismaClient
let db: CommitDb
beforeAll(async () => {
  database = await createTestDatabase(inject('databaseUrl'), userProjector)
  const options = { url: database.url, schema: 'users', applicationName: 'spec' }
  prisma = new PrismaClient({ adapter: createAdapter(options) })
  db = openCommitDb(options)
})
afterAll(async () => {
  await db?.$disconnect()
  await prisma?.$disconnect()
  await database?.drop()
})

/** Each test has an organization of its own. */
function newPlace() {
  return { organization: `acme-${randomUUID().slice(0, 8)}`, project: 'shop' }
}
type Place = ReturnType<typeof newPlace>

/** Folds one batch, like the runner. Returns the number of skipped increments. */
async function fold(facts: readonly UserFact[]): Promise<number> {
  return (await foldOnce(facts)).skipped
}

async function foldOnce(facts: readonly UserFact[]) {
  const parts = offlineParts(async () => 1)
  const projection = createProjection(parts)
  const batch = facts.map((fact) => ({ fact, topic: 'user-events', partition: 0, offset: 0n, timestampMs: 0 }))
  const draft = evolveDraft(projection, await projection.load(db, batch, context), batch, context)
  const { statements } = projection.save(draft)
  await db.executeAll(statements)
  await projection.afterCommit?.(db, draft, { duplicates: [], erased: [] })
  const counted = await parts.metrics.getSingleMetric('skipped_increments_total')?.get()
  return { skipped: counted?.values[0]?.value ?? 0, statements }
}

function readAda(place: Place): Promise<UserReadModel | undefined> {
  return readUser(prisma, { ...place, userId: userIdFixture('ada') })
}

it('the names of users are read in the order of their ids, and only of identified users of the project', async () => {
  const [place, elsewhere] = [newPlace(), newPlace()]
  await fold([
    identifyRequested({ ...place, userName: 'ada' }),
    identifyRequested({ ...place, userName: 'bob' }),
    identifyRequested({ ...elsewhere, userName: 'eve' }),
  ])
  const namesOf = async (...asked: readonly string[]) => {
    const named = await readUserNames(
      prisma,
      asked.map((userName) => ({ ...place, userId: userIdFixture(userName) })),
    )
    return named.map(({ userName }) => userName)
  }
  expect(await namesOf('bob', 'eve', 'nobody', 'ada', 'bob')).toEqual(['bob', null, null, 'ada', 'bob'])
  expect(await namesOf()).toEqual([])
})

it('the keys of users are read in the order of their ids, with their erasures in the project', async () => {
  const [place, elsewhere] = [newPlace(), newPlace()]
  const [ada, bob, eve] = [randomUUID(), randomUUID(), randomUUID()]
  const erasureId = randomUUIDv7()
  // Ids of one millisecond are in no order.
  const [first, second] = [randomUUIDv7(), randomUUIDv7()].toSorted() as [string, string]
  const keysUntil = '2026-11-02T10:01:00.000Z'
  const fenced = { ...place, partition: 0, offset: 7, keysUntil, erasureId, rows: 3 }
  await db.executeAll([
    ...erasedUsers.upsert([
      { ...fenced, userId: ada },
      { ...fenced, ...elsewhere, userId: bob },
    ]),
    ...userKeys.upsert(
      [first, second].map((keyId) => ({ userId: ada, keyId, wrapped: `wrapped ${keyId}`, partition: 0 })),
    ),
  ])
  const fence = { offset: '7', keysUntil, erasureId }
  const keys = [first, second].map((keyId) => ({ keyId, wrapped: `wrapped ${keyId}` }))
  expect(await readUserKeys(prisma, { ...place, userIds: [bob, ada, eve] })).toEqual([
    { userId: bob, keys: [] },
    { userId: ada, fence, keys },
    { userId: eve, keys: [] },
  ])
  expect(await readUserNames(prisma, [{ ...place, userId: ada }])).toEqual([{ userName: null, fence }])
})

describe('the read model of a user', () => {
  it('contains the result of identifies and events over batches', async () => {
    const place = newPlace()
    const morning = '2026-11-02T08:00:00.000Z'
    const evening = '2026-11-02T18:00:00.000Z'
    await fold([
      identifyRequested({
        ...place,
        received: morning,
        operations: { set: { plan: 'free', tags: ['a', null, 1.5] }, increment: { logins: 1 } },
        device: { $countryCode: 'DE', $deviceOs: 'iOS' },
      }),
      eventTracked({ ...place, received: morning, occurredAt: '2026-11-01T08:00:00.000Z' }),
    ])
    await fold([
      eventTracked({ ...place, received: evening, occurredAt: '2026-10-30T08:00:00.000Z' }),
      eventTracked({ ...place, received: evening, source: 'sdk', eventName: 'Opened', slug: 'opened' }),
      identifyRequested({
        ...place,
        received: morning,
        operations: { set: { plan: 'pro' }, increment: { logins: 2 } },
      }),
      visitAnswered({ ...place, visitId: randomUUID(), queuedId: randomUUID(), formId: 'nps' }),
    ])
    expect(await readAda(place)).toEqual({
      userId: userIdFixture('ada'),
      userName: 'ada',
      traits: { plan: 'pro', tags: ['a', null, 1.5], logins: 3 },
      country: 'DE',
      device: { $deviceOs: 'iOS' },
      firstSeenAt: morning,
      lastSeenAt: evening,
      events: {
        checkout_completed: { count: 2, firstAt: '2026-10-30T08:00:00.000Z', lastAt: '2026-11-01T08:00:00.000Z' },
        opened: { count: 1, firstAt: evening, lastAt: evening },
      },
      segments: [],
    })
  })

  it('exists from the first identify on, with the events before it', async () => {
    const place = newPlace()
    await fold([eventTracked({ ...place, source: 'sdk' }), eventTracked({ ...place })])
    expect(await readAda(place)).toBeUndefined()
    await fold([identifyRequested({ ...place })])
    expect(await readAda(place)).toMatchObject({ events: { checkout_completed: { count: 2 } } })
  })

  it('is not changed by an admin track event', async () => {
    const place = newPlace()
    await fold([identifyRequested({ ...place })])
    const before = await readAda(place)
    await fold([eventTracked({ ...place, received: '2026-11-03T10:00:00.000Z' })])
    expect(await readAda(place)).toMatchObject({ lastSeenAt: before?.lastSeenAt })
  })

  it('keeps slugs such as __proto__ and the values of numbers', async () => {
    const place = newPlace()
    const set = JSON.parse('{"__proto__":"x","constructor":1e308,"tiny":5e-324,"quote\\"":"\\\\","":true,"half":-0.1}')
    await fold([
      identifyRequested({ ...place, operations: { set } }),
      eventTracked({ ...place, eventName: 'constructor', slug: 'constructor' }),
    ])
    await fold([identifyRequested({ ...place, operations: { increment: { half: 0.2 } } })])
    const user = await readAda(place)
    expect(new Map(Object.entries(user?.traits ?? {}))).toEqual(new Map(Object.entries({ ...set, half: -0.1 + 0.2 })))
    expect(Object.keys(user?.events ?? {})).toEqual(['constructor'])
  })

  it('contains the number of dropped operations, if there are any', async () => {
    const place = newPlace()
    await fold([identifyRequested({ ...place })])
    expect(await readAda(place)).not.toHaveProperty('droppedTraitOperations')
    const set = Object.fromEntries(Array.from({ length: 1_003 }, (_, at) => [`t${at}`, at]))
    await fold([identifyRequested({ ...place, operations: { set }, device: { $app: 'x'.repeat(3_000) } })])
    await fold([identifyRequested({ ...place, operations: { increment: { oneMore: 1 } } })])
    const user = await readAda(place)
    expect(Object.keys(user?.traits ?? {})).toHaveLength(1_000)
    expect(user).toMatchObject({ droppedTraitOperations: 5, device: {} })
  })

  it('contains a bounded number of events, and tells that there are more', async () => {
    const place = newPlace()
    const events = Array.from({ length: 1_001 }, (_, at) => eventTracked({ ...place, slug: `e${10_000 + at}` }))
    await fold([identifyRequested({ ...place }), ...events.slice(1)])
    expect(await readAda(place)).not.toHaveProperty('moreEvents')
    await fold(events.slice(0, 1))
    const user = await readAda(place)
    expect([Object.keys(user?.events ?? {}).length, user?.moreEvents]).toEqual([1_000, true])
  })

  it('is written without unchanged traits', async () => {
    const place = newPlace()
    const operations = { set: { plan: 'pro' } }
    const { statements } = await foldOnce([identifyRequested({ ...place, operations })])
    expect(statements.some(({ text }) => text.includes('"traits"'))).toBe(true)
    const again = await foldOnce([
      identifyRequested({ ...place, operations }),
      eventTracked({ ...place, source: 'sdk' }),
    ])
    expect(again.statements.some(({ text }) => text.includes('"traits"'))).toBe(false)
    expect(await readAda(place)).toMatchObject({
      traits: { plan: 'pro' },
      events: { checkout_completed: { count: 1 } },
    })
  })

  it('counts skipped increments in a metric', async () => {
    const place = newPlace()
    await fold([identifyRequested({ ...place, operations: { set: { plan: 'pro' } } })])
    expect(await fold([identifyRequested({ ...place, operations: { increment: { plan: 1, logins: 1 } } })])).toBe(1)
  })

  it.each([identifyRequested(), eventTracked()])('loses no $type whose user was not loaded: the fold fails', (fact) => {
    const projection = createProjection(offlineParts(async () => 1))
    const record = { fact, topic: 'user-events', partition: 0, offset: 0n, timestampMs: 0 }
    expect(() => evolveDraft(projection, emptyDraft(), [record], context)).toThrow('was not loaded')
  })

  it('does not depend on how the records are cut into batches', async () => {
    const operations: fc.Arbitrary<TraitOperations> = fc.record(
      {
        set: fc.dictionary(fc.constantFrom('a', 'b'), fc.oneof(fc.integer(), fc.constantFrom('x', null))),
        increment: fc.dictionary(fc.constantFrom('a', 'b'), fc.integer({ min: -5, max: 5 })),
        unset: fc.array(fc.constantFrom('a', 'b'), { maxLength: 1 }),
      },
      { requiredKeys: [] },
    )
    const received = fc.integer({ min: 10, max: 23 }).map((hour) => `2026-11-02T${hour}:00:00.000Z`)
    const fact = fc.oneof(
      fc.record({ received, operations }).map((special) => identifyRequested(special)),
      fc.record({ received, source: fc.constantFrom('admin', 'sdk') }).map((special) => eventTracked(special)),
    )
    const batches = fc.array(fc.array(fact, { minLength: 1, maxLength: 6 }), { maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(batches, async (cut) => {
        const [whole, inBatches] = [newPlace(), newPlace()]
        await fold(cut.flat().map((one) => ({ ...one, ...whole })))
        for (const batch of cut) await fold(batch.map((one) => ({ ...one, ...inBatches })))
        expect(await readAda(inBatches)).toEqual(await readAda(whole))
      }),
      { numRuns: 30 },
    )
  })
})

function askedOf(place: Place, userName: string, partition: number) {
  return { ...place, userId: userIdFixture(userName), partition }
}

const PARTITIONS = 12
const partitionOf = (name: string) => partitionForKey(userIdFixture(name), PARTITIONS)
const countKeyPartitions = () => Promise.resolve(PARTITIONS)

function asksWith(barrier: Barrier) {
  const parts = {
    db: prisma,
    readDb: prisma,
    barrier,
    fetchNow: () => {},
    countKeyPartitions,
    catalog: context.catalog,
    now: () => new Date(),
  }
  return createCallClient(userProjectorCalls, sendLocally(userProjector.routes(parts)))
}

const within5s = () => ({ signal: AbortSignal.timeout(5_000), deadlineAt: performance.now() + 5_000 })

function lookUp(questions: ReturnType<typeof askedOf>[], barrier: Barrier, options: CallOptions = within5s()) {
  return asksWith(barrier).lookUpUsers({ questions }, options)
}

const answered = (...existences: string[]) => ({
  outcome: 'answered',
  answer: { answers: existences.map((existence) => ({ existence })) },
})

describe('the traits of users', () => {
  it('are read in order with one statement, behind the barriers of their partitions', async () => {
    const place = newPlace()
    await fold([identifyRequested({ ...place })])
    const lagging = partitionOf('late')
    const missing = ['eve', 'mallory', 'trent', 'victor'].find((name) => partitionOf(name) !== lagging) ?? ''
    const names = [missing, 'ada', 'late']
    const barrier: Barrier = async ([partition], signal) => {
      if (partition === lagging) await once(signal, 'abort').then(() => signal.throwIfAborted())
    }
    const questions = names.map((name) => ({ ...place, userId: userIdFixture(name) }))
    const asked = await asksWith(barrier).readTraits({ questions }, within5s())
    expect(asked).toMatchObject({
      outcome: 'answered',
      answer: { answers: [{ existence: 'missing' }, { existence: 'exists', traits: {} }, { existence: 'unknown' }] },
    })
  })
})

describe('a look-up of users', () => {
  it('answers at once for known users', async () => {
    const place = newPlace()
    await fold([identifyRequested({ ...place })])
    const answer = await lookUp([askedOf(place, 'ada', 1)], () => Promise.reject(new Error('asked')))
    expect(answer).toEqual(answered('exists'))
  })

  it('waits for the barrier of the partitions of missing users, and answers in order', async () => {
    const place = newPlace()
    await fold([identifyRequested({ ...place })])
    const waitedFor: number[] = []
    const users = [
      askedOf(place, 'nobody', 2),
      askedOf(place, 'ada', 1),
      askedOf(place, 'late', 3),
      askedOf({ ...place, project: 'blog' }, 'ada', 2),
    ]
    const answer = await lookUp(users, async (partitions) => {
      waitedFor.push(...partitions)
      await fold([identifyRequested({ ...place, userName: 'late' })])
    })
    expect(answer).toEqual(answered('missing', 'exists', 'exists', 'missing'))
    expect(waitedFor).toEqual([2, 3])
  })
})

function keyOf(place: Place, atMs: number) {
  const { userId } = askedOf(place, 'hypatia', 1)
  return createDataKey(givenKeyRing('ab'.repeat(32)), userId, atMs).wrapped
}

function erase(place: Place, keysUntilMs: number) {
  return db.executeAll(
    erasedUsers.upsert([
      {
        ...askedOf(place, 'hypatia', 1),
        offset: 1n,
        keysUntil: new Date(keysUntilMs).toISOString(),
        erasureId: randomUUID(),
        rows: 0n,
      },
    ]),
  )
}

async function answerOf(place: Place) {
  const answer = await lookUp([askedOf(place, 'hypatia', 1)], () => Promise.resolve())
  return (answer as { answer: { answers: unknown[] } }).answer.answers[0]
}

describe('a look-up of a user with data keys', () => {
  it('answers the newest key that no erasure has destroyed, and the last erasure', async () => {
    const place = newPlace()
    const [older, newest] = [keyOf(place, 1_000), keyOf(place, 2_000)]
    await fold([identifyRequested({ ...place, userName: 'hypatia' })])
    await db.executeAll(userKeys.upsert([newest, older].map((key) => ({ ...key, partition: 1 }))))
    const key = { keyId: newest.keyId, wrapped: newest.wrapped }
    expect(await answerOf(place)).toEqual({ existence: 'exists', key })
    await erase(place, 1_999)
    const keysUntil = '1970-01-01T00:00:01.999Z'
    expect(await answerOf(place)).toEqual({ existence: 'exists', key, keysUntil })
    await erase(place, 2_000)
    expect(await answerOf(place)).toEqual({ existence: 'exists', keysUntil: '1970-01-01T00:00:02.000Z' })
  })
})

/** Partition 2 is never folded to its end. */
const behind: Barrier = (partitions, signal) =>
  partitions.includes(2) ? sleep(60_000, undefined, { signal }) : Promise.resolve()
const away: Barrier = () => Promise.reject(new Error('the log is unavailable'))

describe('a look-up of users while a partition is behind (design.md, User markers)', () => {
  it('answers unknown only for missing users of that partition', async () => {
    const place = newPlace()
    await fold([identifyRequested({ ...place })])
    const users = [
      askedOf(place, 'nobody', 2),
      askedOf(place, 'ada', 2),
      askedOf(place, 'somebody', 3),
      askedOf({ ...place, project: 'blog' }, 'ada', 4),
    ]
    expect(await lookUp(users, behind)).toEqual(answered('unknown', 'exists', 'missing', 'missing'))
  })

  it.each([50, 400])('answers before the caller’s deadline, which is in %i ms', async (leftMs) => {
    const users = [askedOf(newPlace(), 'nobody', 2)]
    expect(await lookUp(users, behind, { deadlineAt: performance.now() + leftMs })).toEqual(answered('unknown'))
  })

  it('fails while the log does not answer, instead of reporting users as missing', async () => {
    await expect(lookUp([askedOf(newPlace(), 'nobody', 2)], away)).rejects.toThrow('the log is unavailable')
  })
})

const stuck: Barrier = (_, signal) => sleep(60_000, undefined, { signal })

function readAdaBehind(barrier: Barrier, place: Place, options: CallOptions = {}) {
  return asksWith(barrier).readUser({ ...place, userId: userIdFixture('ada') }, { ...within5s(), ...options })
}

describe('a read of a user', () => {
  it('includes records that were acknowledged before the call, although they are not folded yet', async () => {
    const place = newPlace()
    const answer = await readAdaBehind(async (partitions) => {
      expect(partitions).toEqual([partitionForKey(userIdFixture('ada'), PARTITIONS)])
      await fold([identifyRequested({ ...place })])
    }, place)
    expect(answer).toMatchObject({ answer: { userName: 'ada' } })
  })

  it.each([
    ['cannot be asked', () => Promise.reject(new Error('unavailable'))],
    ['is not passed in time', stuck],
  ])('shows what is there when the barrier %s', async (_how, barrier) => {
    const place = newPlace()
    await fold([identifyRequested({ ...place })])
    expect(await readAdaBehind(barrier, place)).toMatchObject({ answer: { userName: 'ada' } })
  })

  it('does not report a user as missing whose records may not be folded yet', async () => {
    expect(await readAdaBehind(stuck, newPlace())).toEqual({ outcome: 'behind' })
  })

  it('stops waiting once the caller is gone', async () => {
    const asking = readAdaBehind(async (_, signal) => signal.throwIfAborted(), newPlace(), {
      signal: AbortSignal.abort(),
    })
    await expect(asking).rejects.toThrow('aborted')
  })
})
