import { eventTracked } from '@nextvisit/contracts/fixtures'
import type { CommitDb, Db } from '@nextvisit/database'
import { createLogger } from '@nextvisit/service-kit'
import { batchOf, factsAsRecords } from '@nextvisit/testing'
import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { givenFoldParts, givenVisitsDatabase } from '../../test/given-visits.ts'
import { createVisitsProjection } from '../../test/visits-projection.ts'
import { createCommitLoop } from '../fold/commit-loop.ts'
import type { Partition } from '../fold/partition.ts'
import { createRunnerMetrics } from '../watch/runner-metrics.ts'
import { createAssignments } from './assignments.ts'

const TOPIC = 'user-events'
const records = factsAsRecords([eventTracked()])
const marks = (...partitions: number[]) => new Map(partitions.map((partition) => [partition, { low: 0n, high: 0n }]))
const given = (...partitions: number[]) => new Map([[TOPIC, partitions]])

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
  const loop = createCommitLoop(parts, (): readonly Partition[] => assignments.owned())
  const assignments = createAssignments({
    parts,
    logger: createLogger('spec', 'silent'),
    metrics,
    now,
    ring: loop.ring,
    drainSoon: () => {},
    readMarks: () => Promise.resolve(marks()),
    partitionCounts: { changeOf: () => Promise.resolve(undefined) },
    signal,
  })
  const stopping = new AbortController()
  const running = loop.run(stopping.signal)
  onTestFinished(() => {
    stopping.abort()
    return running
  })
  return assignments
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
    const overtaken = assignments.positions(TOPIC, marks(0, 1))
    expect(await assignments.positions(TOPIC, marks(0))).toEqual(new Map([[0, 0n]]))
    assignments.begin(given(0))
    const [owned] = assignments.owned()
    held.letGo()
    await overtaken
    expect(assignments.owned()).toEqual([owned])
    expect(assignments.find(TOPIC, 0)).toBe(owned)
    expect(assignments.find(TOPIC, 1)).toBeUndefined()
  })

  it('abandon the batches that wait for Postgres when the next assignment begins', async () => {
    const { db } = await givenVisitsDatabase()
    const assignments = givenAssignments(db, { projection: { ...createVisitsProjection(), load: loadFromNowhere } })
    await assignments.positions(TOPIC, marks(0))
    assignments.begin(given(0))
    const handled = assignments.find(TOPIC, 0)?.give(batchOf(records))
    assignments.begin(given())
    await expect(handled).rejects.toMatchObject({ code: 'RUNNER_STOPPED' })
    expect(assignments.owned()).toEqual([])
  })

  it('report partitions that cannot be opened since their first assignment, even if they are assigned again', async () => {
    const away = refusing((await givenVisitsDatabase()).db)
    let nowMs = Date.now()
    const stopping = new AbortController()
    onTestFinished(() => stopping.abort())
    const metrics = createRunnerMetrics(new Registry(), () => [])
    const assignments = givenAssignments(away.db, { now: () => new Date(nowMs), signal: stopping.signal, metrics })
    const alarms = () => assignments.reported().map((one) => [one.partition, one.progress().alarms])
    const retries = async () => (await metrics.retries.get()).values[0]?.value ?? 0
    const first = assignments.positions(TOPIC, marks(0, 1))
    first.catch(() => {})
    await expect.poll(retries, { timeout: 20_000 }).toBeGreaterThan(0)
    expect(alarms()).toEqual([
      [0, []],
      [1, []],
    ])
    nowMs += 60_000
    const second = assignments.positions(TOPIC, marks(0))
    await expect.poll(retries, { timeout: 20_000 }).toBeGreaterThan(1)
    expect(alarms()).toMatchObject([[0, [{ kind: 'stalled', message: 'Error: Connection terminated unexpectedly' }]]])
    away.comeBack()
    await second
    assignments.begin(given(0))
    expect(alarms()).toEqual([[0, []]])
    expect(assignments.reported()).toEqual(assignments.owned())
  })

  it('refuse to begin with a partition whose checkpoint was never opened', async () => {
    const { db } = await givenVisitsDatabase()
    expect(() => givenAssignments(db).begin(given(0))).toThrow('user-events/0 was assigned')
  })
})
