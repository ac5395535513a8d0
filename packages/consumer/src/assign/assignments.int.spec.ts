import { eventTracked } from '@nextvisit/contracts/fixtures'
import type { CommitDb, Db } from '@nextvisit/database'
import { PartitionRefusedError } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { batchOf, factsAsRecords } from '@nextvisit/testing'
import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { givenFoldParts, givenVisitsDatabase } from '../../test/given-visits.ts'
import { createVisitsProjection } from '../../test/visits-projection.ts'
import { createCommitLoop } from '../partition/commit-loop.ts'
import { createRunnerMetrics } from '../partition/runner-metrics.ts'
import { createAssignments } from './assignments.ts'
import { createFetchPacing } from './fetch-pacing.ts'
import { createOwnedPartitions } from './owned-partitions.ts'
import { readerHandlers } from './reader-handlers.ts'

const TOPIC = 'user-events'
const records = factsAsRecords([eventTracked()])
const marks = (...partitions: number[]) => new Map(partitions.map((partition) => [partition, { low: 0n, high: 0n }]))

function givenAssignments(
  db: CommitDb,
  {
    projection = createVisitsProjection(),
    now = () => new Date(),
    signal = new AbortController().signal,
    metrics = createRunnerMetrics(new Registry(), () => []),
  } = {},
) {
  const parts = givenFoldParts(db, projection)
  const owned = createOwnedPartitions()
  const stopping = new AbortController()
  const loop = createCommitLoop(parts, owned.all, stopping.signal)
  const assignments = createAssignments({
    parts,
    owned,
    logAdmin: { watermarks: () => Promise.resolve(marks()) },
    partitionCounts: { changeOf: () => Promise.resolve(undefined) },
    logger: createLogger('spec', 'silent'),
    metrics,
    now,
    wake: loop.wake,
    drainSoon: () => {},
    signal,
  })
  const running = loop.run()
  onTestFinished(() => {
    stopping.abort()
    return running
  })
  return { ...assignments, owned }
}

/** A database whose first query waits until the test lets it go. */
function holdingTheFirst(db: CommitDb): { readonly db: CommitDb; readonly letGo: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  let asked = 0
  const $queryRaw = ((query) =>
    asked++ === 0 ? promise.then(() => db.$queryRaw(query)) : db.$queryRaw(query)) as Db['$queryRaw']
  return { db: { ...db, $queryRaw }, letGo: resolve }
}

/** A database that refuses every query until the test brings it back. */
function refusing(db: CommitDb): { readonly db: CommitDb; readonly comeBack: () => void } {
  let isBack = false
  const $queryRaw = ((query) => (isBack ? db.$queryRaw(query) : loadFromNowhere())) as Db['$queryRaw']
  return { db: { ...db, $queryRaw }, comeBack: () => void (isBack = true) }
}

async function loadFromNowhere(): Promise<never> {
  throw new Error('Connection terminated unexpectedly')
}

describe('assignments', () => {
  it('own no partition of an assignment that a later one overtook while Postgres was unavailable', async () => {
    const { db } = await givenVisitsDatabase()
    const held = holdingTheFirst(db)
    const assignments = givenAssignments(held.db)
    const overtaken = assignments.openPositions(marks(0, 1))
    expect(await assignments.openPositions(marks(0))).toEqual(new Map([[0, 0n]]))
    assignments.begin([0])
    const [first] = assignments.owned.all()
    held.letGo()
    await overtaken
    expect(assignments.owned.all()).toEqual([first])
    expect(assignments.owned.find(0)).toBe(first)
    expect(assignments.owned.find(1)).toBeUndefined()
  })

  it('abandon the batches that wait for Postgres when the next assignment begins', async () => {
    const { db } = await givenVisitsDatabase()
    const assignments = givenAssignments(db, { projection: { ...createVisitsProjection(), load: loadFromNowhere } })
    await assignments.openPositions(marks(0))
    assignments.begin([0])
    const handled = assignments.owned.find(0)?.give(batchOf(records))
    assignments.begin([])
    await expect(handled).rejects.toMatchObject({ code: 'RUNNER_STOPPED' })
    expect(assignments.owned.all()).toEqual([])
  })

  it('report partitions that cannot be opened since their first assignment, even if they are assigned again', async () => {
    const away = refusing((await givenVisitsDatabase()).db)
    let nowMs = Date.now()
    const stopping = new AbortController()
    onTestFinished(() => stopping.abort())
    const metrics = createRunnerMetrics(new Registry(), () => [])
    const assignments = givenAssignments(away.db, { now: () => new Date(nowMs), signal: stopping.signal, metrics })
    const alarms = () => assignments.owned.reported().map(({ partition, progress }) => [partition, progress().alarms])
    const retries = async () => (await metrics.retries.get()).values[0]?.value ?? 0
    const first = assignments.openPositions(marks(0, 1))
    first.catch(() => {})
    await expect.poll(retries, { timeout: 20_000 }).toBeGreaterThan(0)
    expect(alarms()).toEqual([
      [0, []],
      [1, []],
    ])
    nowMs += 60_000
    const second = assignments.openPositions(marks(0))
    await expect.poll(retries, { timeout: 20_000 }).toBeGreaterThan(1)
    expect(alarms()).toMatchObject([[0, [{ kind: 'stalled', message: 'Error: Connection terminated unexpectedly' }]]])
    away.comeBack()
    await second
    assignments.begin([0])
    expect(alarms()).toEqual([[0, []]])
    expect(assignments.owned.reported()).toEqual(assignments.owned.all())
  })

  it('report a partition whose broker keeps refusing it, with the refusal, and not as one that hangs', async () => {
    const { db } = await givenVisitsDatabase()
    let nowMs = Date.now()
    const metrics = createRunnerMetrics(new Registry(), () => [])
    const { openPositions, begin, owned } = givenAssignments(db, { now: () => new Date(nowMs), metrics })
    await openPositions(new Map([[0, { low: 0n, high: 5n }]]))
    begin([0])
    nowMs += 180_000
    const { onUnreadable } = readerHandlers(owned, createFetchPacing(0), new AbortController().signal)
    onUnreadable?.(TOPIC, 0, new PartitionRefusedError(TOPIC, 0, 56))
    const [refused] = owned.reported()
    expect(refused?.progress()).toMatchObject({ hangsMs: 0, alarms: [{ kind: 'stalled', code: 'PARTITION_REFUSED' }] })
    // No batch is retried.
    expect((await metrics.retries.get()).values[0]?.value).toBe(0)
  })

  it('refuse to begin with a partition whose checkpoint was never opened', async () => {
    const { db } = await givenVisitsDatabase()
    expect(() => givenAssignments(db).begin([0])).toThrow('user-events/0 was assigned')
  })
})
