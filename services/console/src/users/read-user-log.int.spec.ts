import { randomUUID } from 'node:crypto'
import type { FormFact } from '@nextvisit/contracts'
import { eventTracked, segmentEntered, userErased, userIdFixture } from '@nextvisit/contracts/fixtures'
import { createDataKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { createTestTopic } from '@nextvisit/testing'
import { describe, expect, inject, it } from 'vitest'
import { publishFacts } from '../../test/publish-facts.ts'
import { SHOW_ALL } from '../http/mask.ts'
import { bytesOfEntry } from './bounded-entry.ts'
import { answered } from '../http/api-route.ts'
import { createRecordOpener } from './open-records.ts'
import { readUserLog } from './read-user-log.ts'

const userId = userIdFixture('ada')
const PLACE = { organization: 'acme', project: 'shop' }
/** Values like those of the largest event that the gateway takes: 31 KB. */
const LARGE = Object.fromEntries(Array.from({ length: 16 }, (_, nth) => [`text ${nth}`, 'é'.repeat(1_000)]))

const ring = givenKeyRing('aa'.repeat(32))
const AT_MS = Date.parse('2026-11-23T03:00:00.000Z')
/** Opens records with keys that the user projector has. It has folded no erasure. */
const openerOf = (keys: readonly ReturnType<typeof createDataKey>['wrapped'][]) =>
  createRecordOpener({ keyRing: ring, keys: answered({ userId, keys: [...keys] }) }, { ...PLACE, userId })

/** Topics with large events of one user, numbered by their names. */
async function givenEvents(count: number, properties: Readonly<Record<string, unknown>> = LARGE) {
  const brokers = inject('kafkaBrokers')
  const [users, forms] = await Promise.all([createTestTopic(brokers), createTestTopic(brokers)])
  const { connection } = users
  const facts = Array.from({ length: count }, (_, nth) =>
    eventTracked({ id: randomUUID(), userId, eventName: `event ${nth}`, properties }),
  )
  const { key, wrapped } = createDataKey(ring, userId, AT_MS)
  await publishFacts(connection, users.topic, facts, { key })
  const queued: FormFact = {
    type: 'FormQueued',
    id: randomUUID(),
    organization: 'acme',
    project: 'shop',
    userId,
    queuedId: randomUUID(),
    formId: 'nps',
    at: '2026-11-23T03:00:00.000Z',
    environment: 'P',
    causeId: randomUUID(),
    priority: 0,
    showFrom: '2026-11-23T03:00:00.000Z',
    catalogRevision: 1,
  }
  await publishFacts(connection, forms.topic, [queued])
  const topics = { userEvents: users.topic, formEvents: forms.topic }
  const user = { organization: 'acme', project: 'shop', userId }
  const query = { user, depth: 1, mask: SHOW_ALL, opener: openerOf([wrapped]), signal: new AbortController().signal }
  const read = (kept?: { readonly entries: number; readonly bytes: number }, own: Partial<typeof query> = {}) =>
    readUserLog(
      {
        connection,
        partitionCount: 1,
        nowMs: () => 0,
        topics,
        // A busy machine must not decide what is read.
        withinMs: 60_000,
        ...(kept && { kept: { userEvents: kept, formEvents: kept } }),
      },
      { ...query, ...own },
    )
  return { read }
}

/** A topic of sealed events and an erasure, which the user projector has not folded, and may be in the log again. */
async function givenErasure() {
  const brokers = inject('kafkaBrokers')
  const [users, forms] = await Promise.all([createTestTopic(brokers), createTestTopic(brokers)])
  const [old, other] = [createDataKey(ring, userId, AT_MS), createDataKey(ring, userId, AT_MS + 120_000)]
  const erased = userErased({ received: new Date(AT_MS + 1).toISOString() })
  const track = (eventName: string, { key }: typeof old) => {
    const fact = eventTracked({ id: randomUUID(), eventName, properties: { card: '4242' } })
    return publishFacts(users.connection, users.topic, [fact], { key })
  }
  const readLog = () =>
    readUserLog(
      {
        connection: users.connection,
        partitionCount: 1,
        nowMs: () => 0,
        topics: { userEvents: users.topic, formEvents: forms.topic },
        withinMs: 60_000,
      },
      {
        user: { ...PLACE, userId },
        depth: 1,
        mask: SHOW_ALL,
        opener: openerOf([old.wrapped, other.wrapped]),
        signal: new AbortController().signal,
      },
    )
  const read = async () => {
    const log = await readLog()
    return log.facts.map(({ entry }) => [entry.title, entry.details.find(({ name }) => name === 'card')?.value])
  }
  const readChanges = async () =>
    (await readLog()).formFacts.flatMap((fact) => ('causeOffset' in fact ? fact.causeOffset : []))
  const enter = (causeOffset: number) =>
    publishFacts(users.connection, forms.topic, [segmentEntered({ userId, causeOffset })])
  const erase = () => publishFacts(users.connection, users.topic, [erased])
  return { old, other, track, erase, enter, read, readChanges }
}

const namesIn = ({ facts }: Awaited<ReturnType<typeof readUserLog>>) => facts.map(({ entry }) => entry.title)
const eventsFrom = (first: number, end: number) =>
  Array.from({ length: end - first }, (_, nth) => `Event event ${first + nth}`)

describe('the part of the log of one user', () => {
  it('has all facts, the oldest first, if they fit', async () => {
    const { read } = await givenEvents(1_200, { plan: 'pro' })
    const log = await read()
    expect(namesIn(log)).toEqual(eventsFrom(0, 1_200))
    expect(log.formFacts).toHaveLength(1)
    expect(log.reading).toEqual({ partition: 0, records: 1_201, stopped: 'beginning', since: null })
  })

  it('has the newest facts that fit in its bytes, with cut values, and reports since when it is complete', async () => {
    const { read } = await givenEvents(300)
    const bytes = 500_000
    const log = await read({ entries: 5_000, bytes })
    const held = log.facts.reduce((sum, { entry }) => sum + bytesOfEntry(entry), 0)
    expect(held).toBeLessThanOrEqual(bytes)
    // One more would not fit.
    expect(held).toBeGreaterThan(bytes - 2 * (held / log.facts.length))
    expect(namesIn(log)).toEqual(eventsFrom(300 - log.facts.length, 300))
    expect(log.reading.stopped).toBe('size')
    expect(log.reading.since).not.toBeNull()
    const [{ entry } = {}] = log.facts
    expect(entry?.details[0]).toMatchObject({
      value: expect.stringMatching(/^"?é{499,500}$/),
      cutFromBytes: expect.any(Number),
    })
    expect(entry?.moreDetails).toBeGreaterThan(0)
  })

  it('has the newest facts up to its number of entries', async () => {
    const { read } = await givenEvents(300, {})
    const log = await read({ entries: 20, bytes: 1_000_000 })
    expect(namesIn(log)).toEqual(eventsFrom(280, 300))
    expect(log.reading.stopped).toBe('size')
  })

  it('has no facts of another project, although the userId is right', async () => {
    const { read } = await givenEvents(3, {})
    const log = await read(undefined, { user: { organization: 'acme', project: 'blog', userId } })
    expect([log.facts, log.formFacts]).toEqual([[], []])
  })

  it('opens sealed facts, and shows none that an erasure in the log covers, although its key is there', async () => {
    const { old, other, track, erase, read } = await givenErasure()
    await track('before', old)
    expect(await read()).toEqual([['Event before', '"4242"']])
    await erase()
    await track('in flight', old)
    await track('returned', other)
    // A copy of the erasure covers nothing more.
    await erase()
    expect(await read()).toEqual([
      ['Event before', undefined],
      ['User erased', undefined],
      ['Event in flight', undefined],
      ['Event returned', '"4242"'],
      ['User erased', undefined],
    ])
  })

  it('has no changed membership from before an erasure, whichever comes first', async () => {
    const { old, track, erase, enter, readChanges } = await givenErasure()
    await track('before', old)
    for (const causeOffset of [0, 2]) await enter(causeOffset)
    expect(await readChanges()).toEqual([0, 2])
    await erase()
    await enter(0)
    expect(await readChanges()).toEqual([2])
  })

  it('ends with its request', async () => {
    const { read } = await givenEvents(300)
    const leaving = new AbortController()
    let hasBegun = false
    const mask = {
      ...SHOW_ALL,
      value: () => {
        hasBegun = true
        leaving.abort(new Error('gone'))
        return ''
      },
    }
    await expect(read(undefined, { signal: leaving.signal, mask })).rejects.toThrow('gone')
    expect(hasBegun).toBe(true)
  })
})
