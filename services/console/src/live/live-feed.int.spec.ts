import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeRecord, type FormFact, type KeptRefusal, type UserErased, type UserFact } from '@nextvisit/contracts'
import { eventTracked, userErased } from '@nextvisit/contracts/fixtures'
import { createPublisher } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { createTestTopic, testSealOf, PATIENT_REQUESTS } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import type { ConsumerProgress } from './folded-up-to.ts'
import type { LiveQuery } from './live-entries.ts'
import { createLiveFeed, type LiveReading } from './live-feed.ts'

const AT = '2026-11-23T03:00:00.000Z'
const shop = { organization: 'demo', project: 'shop' }
const ALL: LiveQuery = { project: undefined, event: undefined, outcome: undefined, after: undefined, refusalsOf: [] }

const refusal: KeptRefusal = {
  id: '01a2066e-3ec0-780c-9db5-05517574891e',
  at: AT,
  reason: 'user',
  status: 404,
  message: 'User not found',
  route: '/v2/admin/track-event',
  requestId: '01a2066e-3ec0-780c-9db5-055175748911',
  key: { name: 'backend', kind: 'admin', environment: 'P' },
}

const PARTITIONS = 2
const partitionsAt = (nextOffset: number): ConsumerProgress['partitions'] =>
  Array.from({ length: PARTITIONS }, (_, partition) => {
    const lag = { lagRecords: 0, lagSeconds: 0 }
    return { topic: 'user-events', partition, nextOffset: String(nextOffset), ...lag, alarms: [] }
  })

/** Creates topics, the progress of two consumers in each partition, and a feed. */
async function givenFeed() {
  const brokers = inject('kafkaBrokers')
  const [users, forms] = await Promise.all([
    createTestTopic(brokers, { partitions: PARTITIONS }),
    createTestTopic(brokers),
  ])
  const { connection } = users
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  const checkpoints = { metering: 0, 'user-projector': 0 }
  const refusals: KeptRefusal[] = []
  const erased: string[] = []
  const clock = { nowMs: Date.parse(AT) }
  const progressReads = { count: 0, isFailing: false }
  const logged: string[] = []
  const feed = createLiveFeed({
    connection,
    readProgress: async () => {
      progressReads.count += 1
      if (progressReads.isFailing) throw new TypeError('A bug')
      return Object.entries(checkpoints).map(([service, offset]) => ({
        service,
        processes: 1,
        silent: 0,
        partitions: partitionsAt(offset),
      }))
    },
    shownUsers: { erase: ({ userId }) => void erased.push(userId) },
    readRefusals: async () => refusals,
    nowMs: () => clock.nowMs,
    logger: createLogger('console', 'info', { write: (line: string) => void logged.push(line) }),
    topics: { userEvents: users.topic, formEvents: forms.topic },
  })
  onTestFinished(async () => {
    await feed.stop()
    await publisher.stop(1_000)
  })

  async function publish(topic: string, facts: readonly (UserFact | FormFact)[], partition = 0): Promise<void> {
    const deadlineAt = performance.now() + 30_000
    const outcomes = await Promise.all(
      facts.map((fact) => {
        const { value, headers } = encodeRecord(fact, { source: 'spec', time: AT, seal: testSealOf(fact.userId) })
        return publisher.publish({ topic, partition, key: fact.id, value, headers }, deadlineAt)
      }),
    )
    expect(outcomes.every(({ outcome }) => outcome === 'published')).toBe(true)
  }

  /** Reads until the newest entries are there. */
  async function readUntil(
    isDone: (reading: LiveReading) => boolean,
    query: Partial<LiveQuery> = {},
  ): Promise<LiveReading> {
    let reading = feed.read({ ...ALL, ...query })
    await expect
      .poll(
        () => {
          reading = feed.read({ ...ALL, ...query })
          return isDone(reading)
        },
        { timeout: 20_000 },
      )
      .toBe(true)
    return reading
  }
  const trackIn = (partition: number, names: readonly string[]) => {
    const facts = names.map((name) => eventTracked({ ...shop, id: randomUUID(), eventName: name, slug: name }))
    return publish(users.topic, facts, partition)
  }
  const track = (...names: readonly string[]) => trackIn(0, names)
  const decide = (fact: FormFact) => publish(forms.topic, [fact])
  const erase = (fact: UserErased) => publish(users.topic, [fact])
  return { feed, checkpoints, refusals, erased, erase, clock, progressReads, logged, readUntil, track, trackIn, decide }
}

const titlesIn = ({ entries }: LiveReading) => entries.map(({ entry }) => entry.title).toSorted()
const follows = ({ state }: LiveReading) => state === 'follows'

describe('the feed of Live', () => {
  it('shows a fact when every consumer has folded it, and not before', async () => {
    const { checkpoints, readUntil, track } = await givenFeed()
    await track('a', 'b', 'c')
    checkpoints.metering = 3
    checkpoints['user-projector'] = 1
    expect(titlesIn(await readUntil((reading) => follows(reading) && reading.entries.length > 0))).toEqual(['Event a'])
    checkpoints['user-projector'] = 3
    expect(titlesIn(await readUntil(({ entries }) => entries.length > 1))).toEqual(['Event a', 'Event b', 'Event c'])
    expect(titlesIn(await readUntil(() => true, { event: 'b' }))).toEqual(['Event b'])
    expect(titlesIn(await readUntil(() => true, { project: { ...shop, project: 'other' } }))).toEqual([])
  })

  it('shows form events and refusals, each once', async () => {
    const { refusals, readUntil, decide } = await givenFeed()
    const id = randomUUID()
    const common = { ...shop, id, userId: id, queuedId: id, formId: 'nps', at: AT }
    await decide({ type: 'FormDelivered', ...common, environment: 'P', visitId: id })
    refusals.push(refusal)
    const query = { refusalsOf: [shop] }
    const both = await readUntil((reading) => follows(reading) && reading.entries.length > 1, query)
    expect(titlesIn(both)).toEqual(['Form nps delivered', 'User not found'])
    refusals.unshift({ ...refusal, id: '01a2066e-3ec0-780c-9db5-055175748920', message: 'Slow down' })
    const { cursor } = both
    expect(
      titlesIn(await readUntil(({ entries }) => entries.length > 0, { ...query, after: cursor ?? undefined })),
    ).toEqual(['Slow down'])
    expect(titlesIn(await readUntil(() => true, { outcome: 'delivered' }))).toEqual(['Form nps delivered'])
  })

  it('shows an erasure at once, although a consumer is halted before it', async () => {
    const { erased, erase, readUntil, track } = await givenFeed()
    await track('a')
    const fact = userErased({ ...shop, id: randomUUID() })
    await erase(fact)
    const reading = await readUntil(({ entries }) => entries.length > 0)
    expect(titlesIn(reading)).toEqual(['User erased'])
    expect(reading.entries[0]?.record).toEqual({ offset: 1n, keyId: undefined })
    expect(erased).toEqual([fact.userId])
  })

  it('skips entries beyond the limit, and counts them', async () => {
    const { checkpoints, readUntil, track } = await givenFeed()
    const flood = 3_000
    let { cursor } = await readUntil(follows)
    await track(...Array.from({ length: flood }, (_, nth) => `e${nth}`))
    checkpoints.metering = flood
    checkpoints['user-projector'] = flood
    let [shown, skipped] = [0, 0]
    await expect
      .poll(
        async () => {
          const reading = await readUntil(() => true, { after: cursor ?? undefined })
          expect(reading.entries.length).toBeLessThanOrEqual(100)
          cursor = reading.cursor
          shown += reading.entries.length
          skipped += reading.skipped
          return shown + skipped
        },
        { timeout: 20_000 },
      )
      .toBe(flood)
    expect(skipped).toBeGreaterThan(0)
  })

  it('does not count earlier entries as skipped', async () => {
    const { feed, checkpoints, trackIn } = await givenFeed()
    const names = Array.from({ length: 90 }, (_, nth) => `e${nth}`)
    await Promise.all([trackIn(0, names), trackIn(1, names)])
    checkpoints.metering = 90
    checkpoints['user-projector'] = 90
    let reading = feed.read(ALL)
    await expect
      .poll(() => (reading = feed.read({ ...ALL, after: reading.cursor ?? undefined })).state, { timeout: 20_000 })
      .toBe('follows')
    expect(reading.entries).toHaveLength(100)
    expect(reading.skipped).toBe(0)
  })

  it('shows refusals of the requested projects only', async () => {
    const { refusals, readUntil } = await givenFeed()
    refusals.push(refusal)
    const theirs = await readUntil(({ entries }) => entries.length > 0, { refusalsOf: [shop] })
    expect(titlesIn(theirs)).toEqual(['User not found'])
    expect(titlesIn(await readUntil(() => true))).toEqual([])
  })

  it('continues after a bug, and logs it once', async () => {
    const { progressReads, logged, checkpoints, readUntil, track } = await givenFeed()
    progressReads.isFailing = true
    await readUntil(() => progressReads.count > 1)
    expect(logged.map((line) => JSON.parse(line))).toMatchObject([{ msg: 'Live: release failed; retrying' }])
    progressReads.isFailing = false
    await track('a')
    checkpoints.metering = 1
    checkpoints['user-projector'] = 1
    expect(titlesIn(await readUntil(({ entries }) => entries.length > 0))).toEqual(['Event a'])
  })

  it('reads nothing while no page is open, and restarts with the newest records', async () => {
    const { feed, progressReads, checkpoints, clock, readUntil, track } = await givenFeed()
    await track('a')
    checkpoints.metering = 9
    checkpoints['user-projector'] = 9
    const first = await readUntil((reading) => reading.entries.length > 0)
    clock.nowMs += 11_000
    const before = progressReads.count
    await sleep(2_000)
    expect(progressReads.count).toBe(before)
    expect(feed.read({ ...ALL, after: first.cursor ?? undefined })).toMatchObject({ state: 'starting', entries: [] })
    const again = await readUntil((reading) => reading.entries.length > 0, { after: first.cursor ?? undefined })
    expect(titlesIn(again)).toEqual(['Event a'])
    expect(again.skipped).toBe(0)
  })
})
