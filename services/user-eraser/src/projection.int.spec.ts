import { evolveDraft, type FoldContext } from '@nextvisit/consumer'
import { type ErasureFact, type ErasureRequested, TOPICS, type UserErased } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { isoInstant, uuidV5 } from '@nextvisit/domain'
import { createTestDatabase } from '@nextvisit/testing'
import { createErasureFold } from '@nextvisit/user-keys'
import * as fc from 'fast-check'
import { expect, inject, it, onTestFinished } from 'vitest'
import { PROJECT } from '../test/given-eraser.ts'
import { userEraser } from './consumer.ts'
import { createProjection } from './projection.ts'

const T0 = Date.parse('2026-11-02T10:00:00.000Z')
const NAMESPACE = 'e1c55cb5-3a47-5d0c-9a06-2d7f1f1c6a3e'
const CASES = 25
/** Gateways forget fences after 8 days. */
const REMEMBERED_MS = 7 * 86_400_000
const projection = createProjection()
// The eraser reads no catalog.
const live = { mode: 'live' } as FoldContext

async function givenDb(): Promise<CommitDb> {
  const database = await createTestDatabase(inject('databaseUrl'), userEraser)
  const db = openTestDb(database.url, userEraser.schema)
  onTestFinished(async () => {
    await db.$disconnect()
    await database.drop()
  })
  return db
}

/** Folds a batch like the core. Returns the facts that the outbox publishes. */
async function foldBatch(db: CommitDb, facts: readonly ErasureFact[], from: number): Promise<readonly UserErased[]> {
  const records = facts.map((fact, at) => ({
    fact,
    topic: TOPICS.erasures,
    partition: 0,
    offset: BigInt(from + at),
    timestampMs: T0,
  }))
  const draft = evolveDraft(projection, await projection.load(db, records, live), records, live)
  const { statements, outbox = [] } = projection.save(draft)
  await db.executeAll(statements)
  return outbox.map(({ value }) => JSON.parse(value) as UserErased)
}

/** A request, or another copy of an earlier one. Users may be repeated, clocks differ, and a copy may come much later. */
const step = fc.record({
  erasure: fc.nat({ max: 5 }),
  users: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 4 }),
  afterMs: fc.oneof(fc.integer({ min: -30_000, max: 90_000 }), fc.integer({ min: 0, max: 3 * 86_400_000 })),
  newestKeyAfterMs: fc.option(fc.nat({ max: 7_200_000 }), { nil: undefined }),
})
const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 })

it('the eraser and the gateways compute the same fences, also from late copies of a request', async () => {
  const db = await givenDb()
  let nth = 0
  const property = fc.asyncProperty(batches, async (commits) => {
    nth += 1
    const idOf = (name: string) => uuidV5(`${nth} ${name}`, NAMESPACE)
    const gateway = createErasureFold()
    const published = new Map<string, string>()
    let [offset, nowMs] = [0, T0]
    for (const steps of commits) {
      const facts = steps.map(({ erasure, users, afterMs, newestKeyAfterMs }): ErasureRequested => {
        nowMs += afterMs
        return {
          type: 'ErasureRequested',
          id: idOf(`erasure ${erasure}`),
          ...PROJECT,
          received: isoInstant(nowMs),
          ...(newestKeyAfterMs && { newestKeyAt: isoInstant(nowMs + newestKeyAfterMs) }),
          userIds: users.map((user) => idOf(`user ${user}`)),
          unknown: 0,
          suppress: false,
        }
      })
      for (const { userId, keysUntil } of await foldBatch(db, facts, offset)) published.set(userId, keysUntil)
      for (const [at, fact] of facts.entries()) gateway.fold(fact, BigInt(offset + at))
      offset += facts.length
      const byEraser = [...published].filter(([, keysUntil]) => nowMs - Date.parse(keysUntil) < REMEMBERED_MS)
      const byGateway = byEraser.map(([userId]) => [userId, isoInstant(gateway.keysUntilOf(userId) ?? 0)])
      expect(byGateway).toEqual(byEraser)
    }
  })
  await fc.assert(property, { numRuns: CASES })
})
