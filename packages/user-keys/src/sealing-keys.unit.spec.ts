import { randomUUID } from 'node:crypto'
import { type ErasureRequested, openFact, sealMembers, type SealedUserFact } from '@nextvisit/contracts'
import { identifyRequested } from '@nextvisit/contracts/fixtures'
import { keyTimeMs } from '@nextvisit/domain'
import type { PublishOutcome } from '@nextvisit/log'
import { createDataKey, unwrapDataKey, type WrappedKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { describe, expect, it } from 'vitest'
import { createErasureFold } from './fold-erasures.ts'
import { createSealingKeys, sealWith } from './sealing-keys.ts'

const [OLD, NEW] = ['aa'.repeat(32), 'bb'.repeat(32)] as const
const keyRing = givenKeyRing(NEW)
const NOW_MS = Date.parse('2026-11-27T12:00:00.000Z')
const PUBLISHED: PublishOutcome = { outcome: 'published', offset: 0n }
const LOST: PublishOutcome = { outcome: 'unknown', cause: new Error('no answer') }
const options = { deadlineAt: Number.POSITIVE_INFINITY }

/** Fewer than those of a gateway. */
const MAX_FENCES = 1_000

/** Keys of a process whose log answers with these outcomes in turn, and then publishes. */
function givenKeys({ outcomes = [] as PublishOutcome[], max = 10, ring = keyRing } = {}) {
  const log: { readonly wrapped: WrappedKey; readonly partition: number }[] = []
  const { fold, ...fences } = createErasureFold({ maxFences: MAX_FENCES })
  let offset = 0n
  const request = (userIds: readonly string[], receivedMs: number) => {
    fold(requested(userIds, receivedMs), offset)
    offset += 1n
  }
  const keys = createSealingKeys({
    keyRing: ring,
    publish: async (wrapped, partition) => {
      log.push({ wrapped, partition })
      await new Promise(setImmediate)
      return outcomes[log.length - 1] ?? PUBLISHED
    },
    fences,
    max,
    nowMs: () => NOW_MS,
  })
  return {
    ...keys,
    ...fences,
    log,
    request,
    erase: (userId: string, untilMs: number) => request([userId], untilMs - 60_000),
  }
}

function requested(userIds: readonly string[], receivedMs: number): ErasureRequested {
  const about = { organization: 'acme', project: 'shop', received: new Date(receivedMs).toISOString() }
  return { type: 'ErasureRequested', id: randomUUID(), ...about, userIds: [...userIds], unknown: 0, suppress: false }
}

describe('a data key of a user', () => {
  it('is published to the partition of the user before it is used, and then kept in memory', async () => {
    const [keys, userId] = [givenKeys(), randomUUID()]
    const creation = keys.create(userId, 7, options)
    expect(keys.get(userId)).toBeUndefined()
    const created = await creation
    expect(keys.log).toEqual([{ wrapped: created?.wrapped, partition: 7 }])
    expect(unwrapDataKey(keyRing, created?.wrapped as WrappedKey)).toMatchObject({ key: { id: created?.key.id } })
    expect(await keys.create(userId, 7, options)).toBe(created)
    expect(keys.get(userId)).toBe(created)
    expect(keys.log).toHaveLength(1)
  })

  it('seals the personal members of a record, and opens them in no other record', async () => {
    const fact = identifyRequested({ userName: 'ada', operations: { set: { plan: 'a canary' } } })
    const key = (await givenKeys().create(fact.userId, 0, options))?.key
    const sealed = sealMembers(fact, sealWith(key as NonNullable<typeof key>)) as SealedUserFact
    expect(JSON.stringify(sealed)).not.toMatch(/"ada"|canary/)
    expect(sealed).toMatchObject({ sealed: { key: key?.id } })
    const open = (bytes: string, context: string) => key?.open(bytes, context)
    expect(openFact(sealed, open)).toEqual({ outcome: 'ok', fact })
    expect(openFact({ ...sealed, id: randomUUID() }, open)).toMatchObject({ outcome: 'rejected' })
  })

  it('is created once for concurrent requests of a user', async () => {
    const [keys, userId] = [givenKeys(), randomUUID()]
    const created = await Promise.all(Array.from({ length: 50 }, () => keys.create(userId, 0, options)))
    expect(new Set(created.map((one) => one?.key.id)).size).toBe(1)
    expect(keys.log).toHaveLength(1)
    await Promise.all([keys.create(randomUUID(), 0, options), keys.create(randomUUID(), 0, options)])
    expect(keys.log).toHaveLength(3)
  })

  it('that may be missing in the log is used by no record, and requests that waited for it try once more', async () => {
    const [keys, userId] = [givenKeys({ outcomes: [LOST] }), randomUUID()]
    const created = await Promise.all(Array.from({ length: 5 }, () => keys.create(userId, 0, options)))
    expect(keys.log).toHaveLength(2)
    expect(created.map((one) => one?.key.id)).toEqual([undefined, ...Array(4).fill(keys.log[1]?.wrapped.keyId)])
  })

  it('is dropped from memory with the least recently used users, and created again', async () => {
    const [keys, users] = [givenKeys({ max: 2 }), [randomUUID(), randomUUID(), randomUUID()]]
    for (const userId of users) await keys.create(userId, 0, options)
    expect(users.map((userId) => keys.get(userId) !== undefined)).toEqual([false, true, true])
  })
})

describe('a key that another process has published', () => {
  it('is opened by the ring that has the key that wraps it, also an older one', () => {
    const userId = randomUUID()
    const { key, wrapped } = createDataKey(givenKeyRing(OLD), userId, NOW_MS)
    const keys = givenKeys({ ring: givenKeyRing(NEW, OLD) })
    expect(keys.add(wrapped)).toMatchObject({ outcome: 'added', sealingKey: { wrapped } })
    expect(keys.get(userId)?.key.open(key.seal('text', 'x'), 'x')).toBe('text')
    expect(givenKeys().add(wrapped)).toEqual({ outcome: 'missing-key' })
  })

  it('is not opened for another user', () => {
    const { wrapped } = createDataKey(keyRing, randomUUID(), NOW_MS)
    const keys = givenKeys()
    const userId = randomUUID()
    expect(keys.add({ ...wrapped, userId })).toEqual({ outcome: 'damaged' })
    expect(keys.get(userId)).toBeUndefined()
  })
})

describe('after an erasure, of a user', () => {
  it('the key in memory is dropped, and the next one is later than the erasure whatever the clock says', async () => {
    const [keys, userId] = [givenKeys(), randomUUID()]
    const before = await keys.create(userId, 0, options)
    keys.erase(userId, NOW_MS + 60_000)
    expect(keys.get(userId)).toBeUndefined()
    const after = await keys.create(userId, 0, options)
    expect([before, after].map((one) => keyTimeMs(one?.key.id ?? ''))).toEqual([NOW_MS, NOW_MS + 60_001])
    expect(keys.get(userId)).toBe(after)
  })

  it.each([
    ['8 days and one erasure later', 8 * 86_400_000 + 60_000, 1],
    ['after as many others were erased as are kept', 0, MAX_FENCES],
  ])('the key in memory is not used again %s, when the erasure is forgotten', async (_when, laterMs, others) => {
    const [keys, userId] = [givenKeys(), randomUUID()]
    const before = await keys.create(userId, 0, options)
    keys.erase(userId, NOW_MS + 60_000)
    for (let from = 0; from < others; from += 1_000) {
      const userIds = Array.from({ length: Math.min(others, 1_000) }, (_, nth) => `other ${from + nth}`)
      keys.request(userIds, NOW_MS + laterMs + 1)
    }
    expect(keys.keysUntilOf(userId)).toBeUndefined()
    expect(keys.get(userId)).toBeUndefined()
    expect((await keys.create(userId, 0, options))?.key.id).not.toBe(before?.key.id)
  })

  it('a destroyed key of another process is refused', () => {
    const [keys, userId] = [givenKeys(), randomUUID()]
    keys.erase(userId, NOW_MS)
    expect(keys.add(createDataKey(keyRing, userId, NOW_MS).wrapped)).toEqual({ outcome: 'fenced' })
    expect(keys.add(createDataKey(keyRing, userId, NOW_MS + 1).wrapped)).toMatchObject({ outcome: 'added' })
  })

  it('a key that is being published is not used', async () => {
    const [keys, userId] = [givenKeys(), randomUUID()]
    const creation = keys.create(userId, 0, options)
    keys.erase(userId, NOW_MS)
    expect(await creation).toBeUndefined()
  })

  it('of which only a request that waits for a key knows, its key is later', async () => {
    const [keys, userId] = [givenKeys(), randomUUID()]
    const knowing = { ...options, keysUntilMs: NOW_MS + 5 }
    const created = await Promise.all([options, knowing, knowing].map((one) => keys.create(userId, 0, one)))
    expect(created.map((one) => keyTimeMs(one?.key.id ?? ''))).toEqual([NOW_MS, NOW_MS + 6, NOW_MS + 6])
    expect(keys.log).toHaveLength(2)
  })

  it('of which only the caller knows, the key is later', async () => {
    const [keys, userId] = [givenKeys(), randomUUID()]
    await keys.create(userId, 0, options)
    const created = await keys.create(userId, 0, { ...options, keysUntilMs: NOW_MS + 5 })
    expect(keyTimeMs(created?.key.id ?? '')).toBe(NOW_MS + 6)
  })
})
