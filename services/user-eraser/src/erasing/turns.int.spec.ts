import { randomUUID } from 'node:crypto'
import { ERASURE_STORES } from '@nextvisit/contracts'
import { sql } from '@nextvisit/database'
import { createMetrics } from '@nextvisit/service-kit'
import { countRowsRead } from '@nextvisit/testing'
import { startOwnRedis } from '@nextvisit/testing/own-parts'
import { describe, expect, it, vi } from 'vitest'
import { PROJECT } from '../../test/given-eraser.ts'
import { givenErasures, startWork } from '../../test/given-work.ts'
import { erasureFacts, erasures } from '../tables.ts'
import { noteFacts, readPending } from './running-erasures.ts'
import { createTurns } from './turns.ts'

const PATIENT = { timeout: 40_000 }
/** They sort before those of others. */
const FIRST_IDS = '00000000'
/** Each is asked once in a round. */
const CONSUMERS = 6
/** More than a page. */
const MANY = 1_200
const SECOND_MS = 1_000

/** Many erasures of one organization, and then one of another. */
async function givenFlood(many = MANY) {
  const given = await givenErasures()
  const flood = await given.givenManyErasures('evil', many, FIRST_IDS)
  const [victim = ''] = await given.givenManyErasures('acme', 1)
  return { ...given, flood, victim }
}

describe('the turns of organizations', { timeout: 120_000 }, () => {
  it('ask in the first round for the only erasure of one, beside many of another', async () => {
    const { victim, ...given } = await givenFlood()
    const { questions } = await startWork(given, { arePassed: () => false })
    await expect.poll(() => questions.length, PATIENT).toBeGreaterThanOrEqual(2 * CONSUMERS)
    expect(questions.slice(0, CONSUMERS).every((userIds) => userIds.includes(victim))).toBe(true)
    expect(new Set(questions.map((userIds) => userIds.length))).toEqual(new Set([1_000]))
  })

  it('take one erasure of each in turn, after the last one that was served', async () => {
    const given = await givenErasures()
    const { db } = given
    for (const [organization, count] of Object.entries({ acme: 1, evil: 5, other: 2 }))
      await given.givenManyErasures(organization, count)
    const turns = createTurns({ erasuresAPage: 3 })
    const names = await db.$queryRaw<{ id: string; organization: string }[]>(
      sql`SELECT erasure_id AS id, organization FROM erasures`,
    )
    const page = async () => {
      const { erasureIds, hasMore } = await turns.next(db, sql`TRUE`)
      const served = erasureIds.map((id) => names.find((row) => row.id === id)?.organization)
      return { erasureIds, served: served.toSorted((one = '', other = '') => one.localeCompare(other)), hasMore }
    }
    const pages = [await page(), await page(), await page()]
    for (const { served } of pages) expect(served).toEqual(['acme', 'evil', 'other'])
    expect(pages.every(({ hasMore }) => hasMore)).toBe(true)
    // Five of evil, each in its turn, and acme's only one each time.
    const all = pages.flatMap(({ erasureIds }) => erasureIds)
    expect(new Set(all).size).toBe(1 + 3 + 2)
  })

  it('begin with the organization that has waited longest, if one erasure fills a page', async () => {
    const { db } = await givenErasures()
    const requestedAt = new Date().toISOString()
    const rows = ['evil', 'acme', 'evil', 'evil'].map((organization, at) => ({
      erasureId: `${at}${randomUUID().slice(1)}`,
      organization,
      users: organization === 'evil' ? 1_000 : 1,
      project: 'shop',
      requestedAt,
      unknown: 0,
      suppress: false,
      keysOnly: false,
    }))
    await db.executeAll(erasures.insertMissing(rows))
    const turns = createTurns()
    const pages = []
    for (let at = 0; at < 4; at += 1) pages.push((await turns.next(db, sql`TRUE`)).erasureIds)
    const [one, acme, two, three] = rows.map(({ erasureId }) => erasureId)
    expect(pages).toEqual([[one], [acme], [two], [acme]])
    expect(three).toBeDefined()
  })

  it('queue the receipt of one in the first page, beside many of another', async () => {
    const threePages = 450
    const { victim, db, ...given } = await givenFlood(threePages)
    await db.$executeRaw(sql`
      INSERT INTO erasure_stores (erasure_id, store, finished_at)
      SELECT erasure_id, store, now() FROM erasures, unnest(${[...ERASURE_STORES]}::text[]) AS store`)
    const { stop } = await startWork(given)
    const receipts = async () =>
      db.$queryRaw<{ organization: string; userId: string }[]>(sql`
        SELECT organization, user_id AS "userId" FROM outbox JOIN erasure_users AS own ON own.erasure_id::text = outbox.key
        ORDER BY outbox.sequence`)
    await expect.poll(async () => (await receipts()).length, PATIENT).toBe(threePages + 1)
    await stop()
    const at = (await receipts()).findIndex(({ userId }) => userId === victim)
    expect([0, 1]).toContain(at)
  })
})

describe('a round of erasures', { timeout: 120_000 }, () => {
  it('is repeated at once while pages are full and the consumers have folded them', async () => {
    const threePages = 2_100
    const { flood, ...given } = await givenFlood(threePages)
    const { asked, questions, stop } = await startAtOnce(given)
    await expect.poll(() => questions.flat().length, PATIENT).toBe(CONSUMERS * (threePages + 1))
    // The sweep has the same interval, and is not repeated.
    expect(sweepsOf(asked.statements)).toBeLessThanOrEqual(1)
    expect(questions).toHaveLength(CONSUMERS * 3)
    expect(new Set(questions.flat()).size).toBe(flood.length + 1)
    await stop()
    await startAtOnce({ ...given, parts: { ...given.parts, metrics: createMetrics('spec') } })
    await expect.poll(() => finishedOf(given, 'redis'), PATIENT).toBe(threePages + 1)
  })

  it('is not repeated while the consumers have folded none', async () => {
    const given = await givenFlood()
    const { asked, questions } = await startWork(given, { arePassed: () => false, everyMs: SECOND_MS })
    await expect.poll(() => sweepsOf(asked.statements), PATIENT).toBe(3)
    expect(questions.length).toBeLessThanOrEqual(CONSUMERS * 6)
    expect(await finishedOf(given, 'redis')).toBe(0)
  })

  it('asks Redis about an erasure once the consumers that open records have folded it', async () => {
    const given = await givenErasures()
    const redis = await startOwnRedis()
    let arePassed = false
    const erasureId = await given.givenErasure(randomUUID())
    const { questions } = await startWork(given, { arePassed: () => arePassed, redisUrl: redis.url })
    await redis.stop()
    const before = questions.length
    await expect.poll(() => questions.length, PATIENT).toBeGreaterThan(before + 5 * CONSUMERS)
    expect(await given.readStores(erasureId)).toMatchObject({ redis: 'running' })
    arePassed = true
    await expect.poll(() => given.readStores(erasureId), PATIENT).toMatchObject({ redis: 'Redis does not answer.' })
  })

  it('reads the facts of its page only', async () => {
    const { db } = await givenErasures()
    const requestedAt = new Date().toISOString()
    const ids = Array.from({ length: 30 }, () => randomUUID())
    const row = { ...PROJECT, requestedAt, users: 100, unknown: 0, suppress: false, keysOnly: false }
    await db.executeAll([
      ...erasures.insertMissing(ids.map((erasureId) => ({ ...row, erasureId }))),
      ...erasureFacts.upsert(
        ids.flatMap((erasureId) =>
          Array.from({ length: 100 }, () => ({ erasureId, userId: randomUUID(), partition: 0, offset: 7n })),
        ),
      ),
    ])
    await db.$queryRaw(sql`ANALYZE erasure_facts`)
    const factsRead = (work: () => Promise<unknown>) => countRowsRead(db, ['erasure_facts'], work)
    expect(await factsRead(() => noteFacts(db, new Date()))).toBe(3_000)
    expect(await factsRead(() => noteFacts(db, new Date()))).toBe(0)
    const turns = createTurns()
    const readPage = async () => {
      const { erasureIds } = await turns.next(db, sql`TRUE`)
      expect(await readPending(db, 'metering', erasureIds)).toHaveLength(10)
    }
    expect(await factsRead(readPage)).toBe(1_000)
  })
})

/** Starts the work with a round and a sweep at once. The next ones come after an interval that no spec lasts. */
async function startAtOnce(given: Parameters<typeof startWork>[0]) {
  const everyMs = 600 * SECOND_MS
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const work = await startWork(given, { everyMs })
    vi.advanceTimersByTime(everyMs)
    return work
  } finally {
    vi.useRealTimers()
  }
}

function sweepsOf(statements: readonly string[]): number {
  return statements.filter((text) => text.includes('"isFolded"')).length
}

async function finishedOf({ db }: Pick<Awaited<ReturnType<typeof givenErasures>>, 'db'>, store: string) {
  const rows = await db.$queryRaw<unknown[]>(
    sql`SELECT 1 FROM erasure_stores WHERE store = ${store} AND finished_at IS NOT NULL`,
  )
  return rows.length
}
