import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AnyFormFact, WEBHOOK_PAYLOADS } from '@nextvisit/contracts'
import {
  answerGiven,
  formAnswered,
  formCancelled,
  formDelivered,
  formExpired,
  formQueued,
  queueErased,
  segmentEntered,
  segmentLeft,
  userIdFixture,
} from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'
import { NO_PAST } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { createChangingCatalog } from '../test/changing-catalog.ts'
import { givenDispatcher, LONG_AGO, PARTITIONS, partitionOf, soon } from '../test/given-dispatcher.ts'
import { createProjection } from './projection.ts'
import { saveResults } from './sending/save-results.ts'
import { positions } from './tables.ts'

/** Two ticks in each of two partitions. */
const RECORDS = 8_000
const given = givenDispatcher()
const { catalog, publish, deliveriesOf, webhookIdsOf, untilLive, untilFolded } = given

/** Returns an organization of a spec. */
const newOrganization = () => `org-${randomUUID().slice(0, 8)}`
const idsOf = (facts: readonly { readonly id: string }[]) => facts.map(({ id }) => id)
const now = () => new Date().toISOString()
const minutesFromNow = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()
const segmentChange = (organization: string, userName = 'ada', causeOffset = 0) =>
  segmentEntered({ organization, userName, causeOffset, at: now() })

/** Adds an endpoint that is live, and wants everything unless the spec says otherwise. */
async function givenLive(own: { readonly events?: readonly ('form.queued' | 'user.erased')[] } = {}): Promise<string> {
  const organization = newOrganization()
  const { events } = own
  catalog.apply(organization, [{ id: 'crm', addedAt: now(), ...(events && { events: [...events] }) }])
  await untilLive(organization)
  return organization
}

/** Returns facts of a user with each event, in the order of a story. */
function storyOf(organization: string): readonly AnyFormFact[] {
  const queuedId = randomUUID()
  const row = { organization, queuedId, at: now() }
  const answer = { organization, offerId: queuedId, received: now() }
  return [
    formQueued({ ...row, id: randomUUID() }),
    formDelivered({ ...row, id: randomUUID() }),
    formExpired({ ...row, id: randomUUID() }),
    formAnswered(answerGiven({ ...answer, status: 'finished' })),
    formAnswered(answerGiven({ ...answer, status: 'dismissed' })),
    segmentChange(organization, 'ada', 1_000),
    segmentLeft({ organization, at: now(), causeOffset: 1_000 }),
  ]
}

describe('a live endpoint', () => {
  it('gets a delivery for each record that reports an event, with the payload of the contract', async () => {
    const organization = await givenLive()
    const facts = [...storyOf(organization), queueErased({ organization, userName: 'bob', at: now() })]
    const silent = [
      formCancelled({ organization, id: randomUUID() }),
      formAnswered(answerGiven({ organization, status: 'partial' })),
      formAnswered(answerGiven({ organization }), { outcome: 'late' }),
      { ...segmentChange(organization), project: 'blog' },
      segmentChange(newOrganization()),
    ]
    await publish([...silent, ...facts])
    await expect.poll(async () => new Set(await webhookIdsOf(organization)), soon).toEqual(new Set(idsOf(facts)))
    const found = await deliveriesOf(organization)
    expect(found).toHaveLength(facts.length)
    for (const { type, body, capture, status } of found) {
      const event = type as keyof typeof WEBHOOK_PAYLOADS
      const payload = JSON.parse(body) as { data: object }
      const captured = capture.includes('answers') ? { answers: { score: 9 } } : {}
      expect(WEBHOOK_PAYLOADS[event].parse({ ...payload, data: { ...payload.data, ...captured } })).toBeDefined()
      expect([capture, status]).toEqual([type === 'form.answered' ? ['answers'] : [], 'pending'])
    }
    const turns = await given.db().$queryRaw(sql`SELECT user_id FROM turns WHERE organization = ${organization}`)
    expect(turns).toHaveLength(2)
  })

  it('gets the events that it wants only, and one delivery of a record that the log repeats', async () => {
    const organization = await givenLive({ events: ['form.queued'] })
    const queued = formQueued({ organization, id: randomUUID(), at: now() })
    await publish([queued, segmentChange(organization), queued])
    await untilFolded()
    await publish([queued])
    await untilFolded()
    expect(await webhookIdsOf(organization)).toEqual([queued.id])
  })

  it('gets what it wanted when the record came, although its events and include change later', async () => {
    const organization = newOrganization()
    const crm = { id: 'crm', addedAt: now() }
    catalog.apply(organization, [{ ...crm, events: ['form.queued'] }])
    await untilLive(organization)
    const queued = [1, 2].map(() => formQueued({ organization, id: randomUUID(), at: now() }))
    const changed = [segmentChange(organization), segmentChange(organization)]
    await publish([...queued.slice(0, 1), ...changed.slice(0, 1)])
    await untilFolded()
    catalog.apply(organization, [{ ...crm, events: ['user.entered_segment'], include: ['traits'] }])
    await publish([...queued.slice(1), ...changed.slice(1)])
    await untilFolded()
    expect(await deliveriesOf(organization)).toMatchObject([
      { webhookId: queued[0]?.id, capture: [], status: 'pending' },
      { webhookId: changed[1]?.id, capture: ['traits'] },
    ])
  })

  it('gets records that the log repeats in the order of their first copies', async () => {
    const organization = await givenLive()
    const queued = Array.from({ length: 200 }, () => formQueued({ organization, id: randomUUID(), at: now() }))
    // A service that gets no acknowledgement publishes them again.
    await publish([...queued, ...queued])
    await untilFolded()
    expect(await webhookIdsOf(organization)).toEqual(idsOf(queued))
  })

  it('gets the record of a dead letter that is retried, unless it is older than the endpoint', async () => {
    const organization = newOrganization()
    const [before, after] = [segmentChange(organization), segmentChange(organization)]
    await publish([before], ['{"broken'])
    catalog.apply(organization, [{ id: 'crm', addedAt: now() }])
    await untilLive(organization)
    await publish([after], ['{"broken'])
    await untilFolded()
    for (const fact of [before, after])
      await given.db().$executeRaw(sql`
        UPDATE dead_letters SET state = 'retry', value = convert_to(${JSON.stringify(fact)}, 'UTF8')
        WHERE state = 'dead' AND headers ->> 'ce_id' = ${fact.id}`)
    await expect.poll(() => webhookIdsOf(organization), soon).toEqual([after.id])
  })
})

describe('a batch', () => {
  it('is folded in parts if it may write too many deliveries', async () => {
    const organization = newOrganization()
    const endpoints = Array.from({ length: 20 }, (_, index) => ({ id: `crm-${index}`, addedAt: LONG_AGO }))
    catalog.apply(organization, endpoints)
    const stream = {
      organization,
      project: 'shop',
      replayId: LIVE_STREAM,
      addedAt: LONG_AGO,
      partition: 99,
      nextOffset: 0,
    }
    const rows = endpoints.map(({ id: endpointId }) => ({ ...stream, endpointId, isLive: true }))
    for (const statement of positions.insertMissing(rows)) await given.db().$executeRaw(statement)
    const records = Array.from({ length: 600 }, (_, index) => {
      return { topic: '', partition: 99, offset: BigInt(index), timestampMs: 0, fact: segmentChange(organization) }
    })
    const load = (count: number) =>
      createProjection().load(given.db(), records.slice(0, count), { catalog: catalog.view, mode: 'live' })
    await expect(load(600)).rejects.toMatchObject({ code: 'BATCH_TOO_LARGE' })
    await expect(load(500)).resolves.toBeDefined()
  })
})

describe('a listener', () => {
  it('hears what its project reports, without an endpoint', async () => {
    const organization = newOrganization()
    const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
    const question = { organization, project: 'shop', listenerId: randomUUID(), secret }
    const context = {
      signal: new AbortController().signal,
      deadlineAt: performance.now() + 10_000,
      now: () => new Date(),
    }
    expect(await given.listeners.listen(question, context)).toEqual({ deliveries: [], missed: 0 })
    const changed = segmentChange(organization)
    await publish([segmentChange(newOrganization()), { ...changed, id: randomUUID(), project: 'blog' }, changed])
    expect(await given.listeners.listen(question, context)).toMatchObject({
      deliveries: [{ headers: { 'webhook-id': changed.id } }],
      missed: 0,
    })
    expect(await deliveriesOf(organization)).toEqual([])
  })
})

describe('a new endpoint', () => {
  it('gets the records since it was added, also if no process knew it then, and becomes live', async () => {
    const organization = newOrganization()
    const before = Array.from({ length: 20 }, (_, index) => segmentChange(organization, `user-${index}`))
    await publish(before)
    await sleep(20)
    const addedAt = now()
    const since = Array.from({ length: 40 }, (_, index) => segmentChange(organization, `user-${index % 20}`))
    await publish(since)
    await untilFolded()
    catalog.apply(organization, [{ id: 'crm', addedAt }])
    await untilLive(organization)
    const later = segmentChange(organization)
    await publish([later])
    // Until an attempt ends, the findings about endpoints depend on this row.
    const rows = sql`SELECT 1 FROM endpoints WHERE organization = ${organization}`
    expect(await given.db().$queryRaw(rows)).toHaveLength(1)
    const expected = new Set([...idsOf(since), later.id])
    await expect.poll(async () => new Set(await webhookIdsOf(organization)), soon).toEqual(expected)
    expect(await deliveriesOf(organization)).toHaveLength(expected.size)
  })

  it('costs no query while no project has one, apart from one after the start and after each change', async () => {
    const own = createChangingCatalog()
    own.apply('quiet', [])
    const projection = createProjection()
    const queries: unknown[] = []
    const db = given.db()
    const counting = { ...db, $queryRaw: <T>(query: never) => (queries.push(query), db.$queryRaw<T>(query)) }
    const context = { catalog: own.view, mode: 'live' } as const
    const record = { topic: '', partition: 77, offset: 5n, timestampMs: 0, fact: segmentChange('quiet') }
    const due = () => projection.ticks?.due(counting, new Date(), { catalog: own.view, partitions: [77] })
    // Rows of other specs are found, so a tick compares them with the catalog once.
    await due()
    expect(queries).toHaveLength(1)
    const tickContext = { ...context, partition: 77, nextOffset: 0n, ...NO_PAST }
    expect(await projection.ticks?.tick(db, new Date(), tickContext)).toEqual({ statements: [] })
    expect([await due(), queries.length]).toEqual([[], 1])
    await projection.load(counting, [record], context)
    expect(queries).toHaveLength(1)
  })
})

describe('an endpoint that is behind', () => {
  it('misses nothing and is overtaken by nothing while it is disabled and enabled under load', async () => {
    const organization = newOrganization()
    const addedAt = now()
    const crm = { id: 'crm', addedAt }
    catalog.apply(organization, [crm])
    await untilLive(organization)
    const users = Array.from({ length: 24 }, (_, index) => `user-${index}`)
    const published = new Map<string, string[]>()
    const over = new AbortController()

    async function load(): Promise<void> {
      while (!over.signal.aborted) {
        const facts = users.flatMap((userName) => [
          segmentChange(organization, userName),
          segmentChange(organization, userName),
        ])
        for (const { userId, id } of facts) published.set(userId, [...(published.get(userId) ?? []), id])
        await publish(facts)
        await sleep(10)
      }
    }

    /** Disables by the file, then by failures; a second endpoint comes in the middle. */
    async function toggle(): Promise<void> {
      const second = { id: 'second', addedAt }
      for (let turn = 0; turn < 16; turn += 1) {
        const enabled = turn % 2 === 1
        const isByFile = turn % 4 < 2
        catalog.apply(organization, [{ ...crm, enabled: enabled || !isByFile }, ...(turn > 3 ? [second] : [])])
        const disabledAt = enabled || isByFile ? null : now()
        await given.db().$executeRaw(sql`
          UPDATE endpoints SET disabled_at = ${disabledAt}::timestamptz WHERE organization = ${organization} AND endpoint_id = 'crm'`)
        await sleep(80 + 40 * (turn % 3))
        await expectNothingOvertaken()
      }
      over.abort()
      catalog.apply(organization, [crm, second])
      await given.db().$executeRaw(sql`UPDATE endpoints SET disabled_at = NULL WHERE organization = ${organization}`)
    }

    /** In each snapshot, the deliveries of a user and endpoint are the first records of the user. */
    async function expectNothingOvertaken(): Promise<void> {
      const found = await deliveriesOf(organization)
      for (const [key, own] of Map.groupBy(found, ({ endpointId, userId }) => `${endpointId}/${userId}`)) {
        const ids = own.map(({ webhookId }) => webhookId)
        expect(ids).toEqual(published.get(key.split('/')[1] ?? '')?.slice(0, ids.length))
      }
    }

    await Promise.all([load(), toggle()])
    await untilLive(organization)
    await untilLive(organization, 'second')
    await untilFolded()
    await expectNothingOvertaken()
    const total = [...published.values()].flat().length
    const found = Map.groupBy(await deliveriesOf(organization), ({ endpointId }) => endpointId)
    expect([found.get('crm')?.length, found.get('second')?.length]).toEqual([total, total])
  })

  it('gets no row while it is disabled, and continues where it stopped, in another process too', async () => {
    const organization = newOrganization()
    const crm = { id: 'crm', addedAt: now() }
    catalog.apply(organization, [crm])
    await untilLive(organization)
    await given.db().$executeRaw(sql`UPDATE endpoints SET failing_since = now() WHERE organization = ${organization}`)
    catalog.apply(organization, [{ ...crm, enabled: false }])
    const live = sql`SELECT count(*)::int AS live FROM positions WHERE organization = ${organization} AND is_live`
    await expect.poll(() => given.db().$queryRaw(live), soon).toEqual([{ live: 0 }])
    const failing = sql`SELECT FROM endpoints WHERE organization = ${organization} AND failing_since IS NOT NULL`
    expect(await given.db().$queryRaw(failing), 'failures of a time in which nothing is sent').toEqual([])
    const endpoint = { organization, project: 'shop', endpointId: 'crm', addedAt: crm.addedAt }
    const underWay = saveResults([], [{ ...endpoint, failingSince: new Date() }], new Date())
    await given.db().executeAll(underWay)
    await expect.poll(() => given.db().$queryRaw(failing), soon).toEqual([])
    const facts = storyOf(organization)
    await publish(facts)
    await untilFolded()
    expect(await deliveriesOf(organization)).toEqual([])
    await given.restart()
    catalog.apply(organization, [crm])
    await expect.poll(() => webhookIdsOf(organization), soon).toEqual(idsOf(facts))
  })

  it('loses nothing while this version does not understand it, and its rows stay', async () => {
    const organization = newOrganization()
    const crm = { id: 'crm', addedAt: LONG_AGO }
    catalog.apply(organization, [crm])
    await untilLive(organization)
    const [first, second, third] = [
      segmentChange(organization),
      segmentChange(organization),
      segmentChange(organization),
    ]
    await publish([first])
    await untilFolded()
    await given.db().$executeRaw(sql`
      UPDATE deliveries SET status = 'delivered', ended_at = now() WHERE organization = ${organization}`)
    catalog.misunderstand(organization, [])
    await publish([second])
    await untilFolded()
    await given.restart()
    await publish([third])
    await untilFolded()
    await givenLive() // each partition has ticked
    expect(await webhookIdsOf(organization)).toEqual([first.id])
    catalog.apply(organization, [crm])
    await expect.poll(() => webhookIdsOf(organization), soon).toEqual(idsOf([first, second, third]))
    const statuses = (await deliveriesOf(organization)).map(({ status }) => status)
    expect(statuses).toEqual(['delivered', 'pending', 'pending'])
  })

  it('stops before a batch of a process whose catalog does not have it yet', async () => {
    const organization = newOrganization()
    const stream = { organization, project: 'shop', endpointId: 'crm', replayId: LIVE_STREAM, addedAt: LONG_AGO }
    const row = { ...stream, partition: 98, nextOffset: 0, isLive: true }
    for (const statement of positions.insertMissing([row])) await given.db().$executeRaw(statement)
    const older = createChangingCatalog()
    older.apply(organization, [])
    const record = { topic: '', partition: 98, offset: 5n, timestampMs: 0, fact: segmentChange(organization) }
    const draft = await createProjection().load(given.db(), [record], { catalog: older.view, mode: 'live' })
    expect(draft.left).toMatchObject([{ ...row, nextOffset: 5, isLive: false }])
  })

  it('moves back to no dead letter that is retried: the letter waits for a process that knows the endpoint', async () => {
    const organization = newOrganization()
    const crm = { id: 'crm', addedAt: now() }
    catalog.apply(organization, [crm])
    await untilLive(organization)
    const [dead, later] = [segmentChange(organization), segmentChange(organization)]
    await publish([dead, later], ['{"broken'])
    await untilFolded()
    catalog.misunderstand(organization, [])
    const retry = () =>
      given.db().$executeRaw(sql`
        UPDATE dead_letters SET state = 'retry', value = convert_to(${JSON.stringify(dead)}, 'UTF8')
        WHERE state = 'dead' AND headers ->> 'ce_id' = ${dead.id}`)
    await retry()
    const letter = sql`SELECT state, reason FROM dead_letters WHERE headers ->> 'ce_id' = ${dead.id}`
    const reason = expect.stringContaining(`does not know the webhook ${organization}/shop/crm`)
    await expect.poll(() => given.db().$queryRaw(letter), soon).toEqual([{ state: 'dead', reason }])
    catalog.apply(organization, [crm])
    await retry()
    await expect.poll(() => webhookIdsOf(organization), soon).toEqual([dead.id, later.id])
  })

  it('reads a partition that is new from its first record on', async () => {
    const organization = newOrganization()
    const addedAt = now()
    catalog.apply(organization, [{ id: 'crm', addedAt }])
    await untilLive(organization)
    const facts = Array.from({ length: 40 }, (_, index) => segmentChange(organization, `user-${index}`))
    await publish(facts)
    await untilFolded()
    await expect.poll(() => webhookIdsOf(organization), soon).toHaveLength(40)
    // As if the partition had been added after the endpoint.
    await given.runner().stop()
    const added = partitionOf(facts[0]?.userId ?? '')
    await given
      .db()
      .$executeRaw(sql`DELETE FROM positions WHERE partition = ${added} AND organization = ${organization}`)
    await given
      .db()
      .$executeRaw(sql`DELETE FROM deliveries WHERE partition = ${added} AND organization = ${organization}`)
    await given.restart()
    await untilLive(organization)
    expect(new Set(await webhookIdsOf(organization))).toEqual(new Set(idsOf(facts)))
  })
})

describe('an erasure', () => {
  it('deletes what was and is to be sent about the user, and informs the endpoint', async () => {
    const organization = await givenLive()
    const bob = segmentChange(organization, 'bob')
    await publish([...storyOf(organization), bob])
    await expect.poll(() => webhookIdsOf(organization), soon).toHaveLength(8)
    await given.db().$executeRaw(sql`
      INSERT INTO attempts (delivery_id, number, at, duration_ms, outcome)
      SELECT delivery_id, 1, now(), 1, 'refused' FROM deliveries WHERE organization = ${organization}`)
    const kept = segmentChange(organization, 'ada', 6_000)
    const erased = queueErased({ organization, at: now(), causeOffset: 5_000 })
    // A restarted publisher may repeat what precedes the erasure.
    const copies = [formDelivered, formExpired].map((fact) => {
      return fact({ organization, id: randomUUID(), at: now(), causeOffset: 4_999 })
    })
    await publish([kept, erased, segmentChange(organization, 'ada', 4_999), ...copies])
    await untilFolded()
    const found = await deliveriesOf(organization)
    expect(new Set(found.map(({ webhookId }) => webhookId))).toEqual(new Set(idsOf([bob, kept, erased])))
    const attempts = await given.db().$queryRaw(sql`
      SELECT count(*)::int AS others FROM attempts LEFT JOIN deliveries USING (delivery_id)
      WHERE deliveries.delivery_id IS NULL`)
    expect(attempts).toEqual([{ others: 0 }])
  })

  it('leaves no turn without a delivery to an endpoint that does not want erasures', async () => {
    const organization = await givenLive({ events: ['form.queued'] })
    await publish([formQueued({ organization, id: randomUUID(), at: now() })])
    await expect.poll(() => deliveriesOf(organization), soon).toHaveLength(1)
    await publish([queueErased({ organization, at: now() })])
    await untilFolded()
    const turns = await given.db().$queryRaw(sql`SELECT FROM turns WHERE organization = ${organization}`)
    expect([await deliveriesOf(organization), turns]).toEqual([[], []])
  })

  it('covers records that a position reads later, and each erasure is reported', async () => {
    const organization = newOrganization()
    const crm = { id: 'crm', addedAt: now() }
    const [first, second] = [1, 2].map((nth) => queueErased({ organization, at: now(), causeOffset: nth * 2_000 }))
    const between = segmentChange(organization, 'ada', 3_000)
    const after = segmentChange(organization, 'ada', 4_000)
    await publish([...storyOf(organization), ...(first ? [first] : []), between, ...(second ? [second] : []), after])
    await untilFolded()
    catalog.apply(organization, [crm])
    await untilLive(organization)
    expect(await webhookIdsOf(organization)).toEqual([first?.id, second?.id, after.id])
  })
})

describe('an endpoint that is removed', () => {
  it('is forgotten, and is another one if it is added again', async () => {
    const organization = await givenLive()
    await publish(storyOf(organization))
    await expect.poll(() => webhookIdsOf(organization), soon).toHaveLength(7)
    await given.db().$executeRaw(sql`
      UPDATE endpoints SET disabled_at = now(), because = '410' WHERE organization = ${organization}`)
    await given
      .db()
      .$executeRaw(sql`UPDATE positions SET added_at = ${LONG_AGO}::timestamptz WHERE organization = ${organization}`)
    await given
      .db()
      .$executeRaw(sql`UPDATE endpoints SET added_at = ${LONG_AGO}::timestamptz WHERE organization = ${organization}`)
    const again = now()
    const since = segmentChange(organization)
    await publish([since])
    catalog.apply(organization, [{ id: 'crm', addedAt: again }])
    await untilLive(organization)
    expect(await webhookIdsOf(organization)).toEqual([since.id])
    const health = sql`SELECT disabled_at, because, added_at AS "addedAt" FROM endpoints WHERE organization = ${organization}`
    expect(await given.db().$queryRaw(health)).toEqual([{ disabled_at: null, because: null, addedAt: new Date(again) }])
  })

  it('leaves no row behind', async () => {
    const organization = newOrganization()
    catalog.apply(organization, [
      { id: 'crm', addedAt: LONG_AGO },
      { id: 'other', addedAt: LONG_AGO },
    ])
    await untilLive(organization)
    await untilLive(organization, 'other')
    await publish(storyOf(organization))
    await untilFolded()
    await beginReplay(organization)
    catalog.apply(organization, [{ id: 'other', addedAt: LONG_AGO }])
    for (const table of ['endpoints', 'positions', 'replays', 'deliveries', 'turns'] as const) {
      const rows = () => given.db().$queryRaw<object[]>(countOf(table, organization))
      await expect.poll(rows, soon).toEqual([{ crm: 0 }])
    }
    expect(await deliveriesOf(organization)).toHaveLength(7)
  })

  it('gives its replay back if it was added again, and another process has begun it for the one before', async () => {
    const organization = newOrganization()
    catalog.apply(organization, [{ id: 'crm', addedAt: LONG_AGO }])
    await untilLive(organization)
    await publish(storyOf(organization))
    await untilFolded()
    const again = now()
    const replayId = await beginReplay(organization)
    await untilRead(replayId)
    catalog.apply(organization, [{ id: 'crm', addedAt: again }])
    await untilLive(organization)
    await untilRead(replayId)
    expect((await deliveriesOf(organization)).map((one) => one.replayId)).toEqual(
      Array.from({ length: 7 }, () => replayId),
    )
  })

  it('leaves no replay that was asked for before its first tick', async () => {
    const organization = newOrganization()
    const replayId = await beginReplay(organization)
    await given.db().$executeRaw(sql`
      UPDATE replays SET requested_at = now() - interval '2 minutes' WHERE replay_id = ${replayId}::uuid`)
    catalog.apply(organization, [{ id: 'other', addedAt: LONG_AGO }])
    await expect.poll(() => given.db().$queryRaw(countOf('replays', organization)), soon).toEqual([{ crm: 0 }])
  })
})

const TABLES = {
  endpoints: sql`endpoints`,
  positions: sql`positions`,
  replays: sql`replays`,
  deliveries: sql`deliveries`,
  turns: sql`turns`,
}

function countOf(table: keyof typeof TABLES, organization: string) {
  return sql`SELECT count(*)::int AS crm FROM ${TABLES[table]} WHERE organization = ${organization} AND endpoint_id = 'crm'`
}

interface ReplayOptions {
  readonly from?: string
  readonly to?: string
  readonly events?: readonly string[]
}

let replays = 0

/** Asks for a replay as the call does. Returns its id. */
async function beginReplay(
  organization: string,
  { from = LONG_AGO, to = '2100-01-01T00:00:00.000Z', events }: ReplayOptions = {},
) {
  const replayId = randomUUID()
  await given.db().$executeRaw(sql`
    INSERT INTO replays
      (replay_id, organization, project, endpoint_id, number, from_at, to_at, events, requested_at, unplaced)
    VALUES (${replayId}::uuid, ${organization}, 'shop', 'crm', ${(replays += 1)}, ${from}::timestamptz, ${to}::timestamptz,
      ${events ? JSON.stringify(events) : null}::jsonb, now(), ${Array.from({ length: PARTITIONS }, (_, partition) => partition)}::bigint[])`)
  return replayId
}

/** Resolves once a replay has its places in the log. */
async function untilBegun(replayId: string): Promise<void> {
  const begun = sql`SELECT count(*)::int AS begun FROM positions WHERE replay_id = ${replayId}::uuid`
  await expect.poll(() => given.db().$queryRaw(begun), soon).toEqual([{ begun: PARTITIONS }])
}

/** Resolves once a replay has read its part of the log. */
async function untilRead(replayId: string): Promise<void> {
  const read = () =>
    given.db().$queryRaw(sql`
      SELECT count(*)::int AS read FROM positions WHERE replay_id = ${replayId}::uuid AND next_offset >= end_offset`)
  await expect.poll(read, { ...soon, timeout: 60_000 }).toEqual([{ read: PARTITIONS }])
}

describe('a position', () => {
  it('reads more than a tick can, while records arrive, and a replay repeats them in the order of each user', async () => {
    const organization = newOrganization()
    const addedAt = now()
    const users = Array.from({ length: 1_000 }, (_, index) => `user-${index}`)
    const ofTwoPartitions = users.filter((user) => partitionOf(userIdFixture(user)) < 2)
    const change = (index: number) => segmentChange(organization, ofTwoPartitions[index % ofTwoPartitions.length])
    const facts = Array.from({ length: RECORDS }, (_, index) => change(index))
    await publish(facts)
    await untilFolded()
    catalog.apply(organization, [{ id: 'crm', addedAt }])
    const live = untilLive(organization)
    const over = new AbortController()
    void live.finally(() => over.abort())
    while (!over.signal.aborted) {
      const more = Array.from({ length: 100 }, (_, index) => change(index))
      facts.push(...more)
      await publish(more)
      await sleep(10)
    }
    await live
    await untilFolded()
    expect(await reportedBy(organization, LIVE_STREAM)).toEqual(idsByUser(facts))
    const replayId = await beginReplay(organization)
    await untilRead(replayId)
    expect(await reportedBy(organization, replayId)).toEqual(idsByUser(facts))
  })
})

/** Returns the records that a stream has reported, by user, in their order. */
async function reportedBy(organization: string, replayId: string) {
  const found = (await deliveriesOf(organization)).filter((one) => one.replayId === replayId)
  return idsByUser(found.map(({ userId, webhookId: id }) => ({ userId, id })))
}

function idsByUser(facts: readonly { readonly userId: string; readonly id: string }[]) {
  const byUser = Map.groupBy(facts, ({ userId }) => userId)
  return new Map(Array.from(byUser, ([userId, own]) => [userId, idsOf(own)]))
}

describe('a replay', () => {
  it('writes deliveries of its own, with the ids and bodies of the first ones', async () => {
    const organization = await givenLive()
    const story = storyOf(organization)
    await publish(story)
    await expect.poll(() => webhookIdsOf(organization), soon).toHaveLength(7)
    const captured = '{"type":"form.answered","captured":true}'
    await given.db().$executeRaw(sql`
      UPDATE deliveries SET body = ${captured}, capture = '{}' WHERE organization = ${organization} AND type = 'form.answered'`)
    // The first instant that a call accepts.
    const replayId = await beginReplay(organization, { from: '1970-01-01T00:00:00.000Z' })
    await untilRead(replayId)
    const byStream = Map.groupBy(await deliveriesOf(organization), (one) => one.replayId === LIVE_STREAM)
    const places = sql`SELECT DISTINCT begin_offset <= end_offset AS "isKnown" FROM positions WHERE replay_id = ${replayId}::uuid`
    expect(await given.db().$queryRaw(places)).toEqual([{ isKnown: true }])
    const shown = (own = true) => byStream.get(own)?.map(({ webhookId, body, capture }) => [webhookId, body, capture])
    expect(shown(false)).toEqual(shown(true))
    expect(shown(false)?.map(([id]) => id)).toEqual(idsOf(story))
    expect(shown(false)?.map(([, body]) => body)).toContain(captured)
  })

  it('takes the records between two instants, with the events that were asked for, and no later ones', async () => {
    const organization = await givenLive({ events: ['form.queued'] })
    const queued = [-3, -2, -1, 0].map((minute) =>
      formQueued({ organization, id: randomUUID(), at: minutesFromNow(minute) }),
    )
    const changed = { ...segmentChange(organization), at: queued[1]?.at ?? '' }
    await publish([...queued, changed])
    await expect.poll(() => deliveriesOf(organization), soon).toHaveLength(4)
    const between = { from: queued[1]?.at ?? '', to: queued[3]?.at ?? '' }
    const [own, asked] = [
      await beginReplay(organization, between),
      await beginReplay(organization, { ...between, events: ['user.entered_segment'] }),
    ]
    await untilRead(own)
    await untilRead(asked)
    await publish([formQueued({ organization, id: randomUUID(), at: queued[2]?.at ?? '' })])
    await untilFolded()
    const found = Map.groupBy(await deliveriesOf(organization), ({ replayId }) => replayId)
    expect(found.get(own)?.map(({ webhookId }) => webhookId)).toEqual(idsOf(queued.slice(1, 3)))
    expect(found.get(asked)?.map(({ webhookId }) => webhookId)).toEqual([changed.id])
    expect(found.get(LIVE_STREAM)).toHaveLength(5)
  })

  it('takes the body of an earlier replay of the record, although later ones were of other records', async () => {
    const organization = await givenLive({ events: ['form.queued'] })
    await publish(storyOf(organization))
    await untilFolded()
    const events = ['form.answered']
    await untilRead(await beginReplay(organization, { events }))
    const captured = '{"type":"form.answered","captured":true}'
    await given.db().$executeRaw(sql`
      UPDATE deliveries SET body = ${captured}, capture = '{}' WHERE organization = ${organization} AND type = 'form.answered'`)
    for (let nth = 0; nth < 6; nth += 1) await beginReplay(organization, { events: ['form.queued'] })
    const replayId = await beginReplay(organization, { events })
    await untilRead(replayId)
    const own = (await deliveriesOf(organization)).filter((one) => one.replayId === replayId)
    expect(own).toMatchObject([{ body: captured, capture: [] }])
  })

  it('takes the body of the first delivery beside another replay of the record', async () => {
    const organization = await givenLive()
    await publish(storyOf(organization))
    await untilFolded()
    const captured = '{"type":"form.answered","captured":true}'
    await given.db().$executeRaw(sql`
      UPDATE deliveries SET body = ${captured}, capture = '{}' WHERE organization = ${organization} AND type = 'form.answered'`)
    // While the endpoint is disabled, both begin. Then a tick reads both.
    await given.db().$executeRaw(sql`UPDATE endpoints SET disabled_at = now() WHERE organization = ${organization}`)
    const events = ['form.answered']
    const replayIds = [await beginReplay(organization, { events }), await beginReplay(organization, { events })]
    for (const replayId of replayIds) await untilBegun(replayId)
    await given.db().$executeRaw(sql`UPDATE endpoints SET disabled_at = NULL WHERE organization = ${organization}`)
    for (const replayId of replayIds) await untilRead(replayId)
    const found = (await deliveriesOf(organization)).filter(({ type }) => type === 'form.answered')
    expect(found.map(({ body, capture }) => [body, capture])).toEqual(Array.from({ length: 3 }, () => [captured, []]))
  })

  it('waits while the endpoint is disabled, and contains nothing about erased users', async () => {
    const organization = await givenLive()
    const bob = segmentChange(organization, 'bob')
    await publish([...storyOf(organization), bob])
    await untilFolded()
    await given.db().$executeRaw(sql`UPDATE endpoints SET disabled_at = now() WHERE organization = ${organization}`)
    const replayId = await beginReplay(organization)
    await untilBegun(replayId)
    await publish([queueErased({ organization, at: now(), causeOffset: 5_000 })])
    await untilFolded()
    const ofReplay = async () => (await deliveriesOf(organization)).filter((one) => one.replayId === replayId)
    expect(await ofReplay()).toEqual([])
    await given.db().$executeRaw(sql`UPDATE endpoints SET disabled_at = NULL WHERE organization = ${organization}`)
    await untilRead(replayId)
    expect((await ofReplay()).map(({ webhookId }) => webhookId)).toEqual([bob.id])
  })
})

describe('deliveries', () => {
  it('are deleted 30 days after their end, with their attempts', async () => {
    const organization = await givenLive()
    await publish(storyOf(organization))
    await expect.poll(() => deliveriesOf(organization), soon).toHaveLength(7)
    const ended = (days: number, nth: number) =>
      given.db().$executeRaw(sql`
      WITH chosen AS (SELECT delivery_id FROM deliveries WHERE organization = ${organization} ORDER BY source_offset OFFSET ${nth} LIMIT 1),
        written AS (INSERT INTO attempts (delivery_id, number, at, duration_ms, outcome) SELECT delivery_id, 1, now(), 1, 'delivered' FROM chosen)
      UPDATE deliveries SET status = 'delivered', ended_at = now() - make_interval(days => ${days})
      FROM chosen WHERE deliveries.delivery_id = chosen.delivery_id`)
    await ended(31, 0)
    await ended(29, 1)
    await expect.poll(() => deliveriesOf(organization), soon).toHaveLength(6)
    const attempts = sql`SELECT count(*)::int AS kept FROM attempts JOIN deliveries USING (delivery_id) WHERE organization = ${organization}`
    expect(await given.db().$queryRaw(attempts)).toEqual([{ kept: 1 }])
    expect((await deliveriesOf(organization)).filter(({ status }) => status === 'delivered')).toHaveLength(1)
  })
})

describe('a replay that is complete', () => {
  it('is forgotten after 30 days, also if it had no delivery', async () => {
    const organization = await givenLive()
    const replayId = await beginReplay(organization, { from: '2099-01-01T00:00:00.000Z' })
    await untilRead(replayId)
    await given.db().$executeRaw(sql`
      UPDATE replays SET requested_at = now() - interval '31 days' WHERE replay_id = ${replayId}::uuid`)
    const positionsOf = sql`SELECT partition FROM positions WHERE replay_id = ${replayId}::uuid`
    await expect.poll(() => given.db().$queryRaw(positionsOf), soon).toEqual([])
  })
})

it('has users of several partitions in these specs', () => {
  const users = Array.from({ length: 24 }, (_, index) => userIdFixture(`user-${index}`))
  expect(new Set(users.map(partitionOf)).size).toBe(PARTITIONS)
})
