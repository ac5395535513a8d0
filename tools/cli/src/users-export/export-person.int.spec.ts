import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { answerDeadLetters, answerPersonalData, createBarrier } from '@nextvisit/consumer'
import { deadLetterCalls, gatewayCalls, type KeptRefusal, personalDataCalls, type UserFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, organizationConfig } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { userIdOf } from '@nextvisit/domain'
import { createLogAdmin, readWatermarks } from '@nextvisit/log'
import { type Addresses, type CallRoute, createAddresses, serveCalls } from '@nextvisit/service-kit'
import { givenInternalServer } from '@nextvisit/service-kit/test/given-internal-server.ts'
import { consumers } from '@nextvisit/services'
import { expect, it, onTestFinished, vi } from 'vitest'
import { givenReplay, onTopic } from '../../test/given-replay.ts'
import { givenSealedLog, SECRET_ENV } from '../../test/given-sealed-log.ts'
import { exportPerson } from './export-person.ts'
import type { Person } from './person-writer.ts'
import { TYPE_OF_TABLE } from './row-line.ts'

/** The only call of the gateway that an export makes. */
const REFUSALS_ONLY = { readRefusals: gatewayCalls.readRefusals }

const SOON = { timeout: 30_000 }
const TOKEN = 'a-token-for-this-spec'
const PLACE = { organization: 'acme', project: 'shop' }
const CATALOG = staticCatalog([
  organizationConfig({
    id: 'acme',
    projects: [
      {
        id: 'shop',
        segments: [{ id: 'red', where: { trait: 'colour', is: 'ada-trait' } }],
        forms: [
          { id: 'nps', triggers: [{ event: 'checkout_completed' }] },
          { id: 'ces', triggers: [{ event: 'checkout_completed' }], audience: { trait: 'colour', is: 'blue' } },
        ],
      },
    ],
  } as never),
])

const personOf = (userName: string) => ({ ...PLACE, userName, userId: userIdOf('acme', 'shop', userName) })

/** Returns facts of a person whose values begin with the name. */
function factsOf(name: string): UserFact[] {
  const { userId } = personOf(name)
  return [
    identifyRequested({
      userName: name,
      userId,
      source: 'sdk',
      operations: { set: { colour: `${name}-trait` } },
      device: { $browser: `${name}-browser` },
    }),
    eventTracked({ userName: name, userId, properties: { coupon: `${name}-property` } }),
  ]
}

const serve = async (routes: readonly CallRoute[]) => (await givenInternalServer({ token: TOKEN, routes })).url

/** Publishes sealed records of ada and bob, a record of each that cannot be read, and one on `form-events`. */
async function givenLogOfPeople() {
  const log = await givenSealedLog()
  const { userEvents, formEvents } = log.topics
  for (const name of ['ada', 'bob']) {
    const key = personOf(name).userId
    for (const fact of factsOf(name)) await log.record(fact)
    await log.publish(userEvents, { key, value: `{"${name}-poison`, headers: { 'schema-version': '1' } })
    await log.publish(formEvents, { key, value: `{"formOf":"${name}-form"}` })
  }
  return log
}

/** Starts the consumers, over records of ada and bob, and servers that answer the calls of an export. */
async function givenProduct() {
  const { connection, topics, ring } = await givenLogOfPeople()
  const { userEvents, formEvents, userKeys } = topics
  const logAdmin = createLogAdmin(connection)
  await logAdmin.connect()
  onTestFinished(logAdmin.disconnect)
  const topicOf = (name: string): string => {
    if (name === 'user-eraser') return topics.erasures
    return name === 'answer-collector' || name === 'webhook-dispatcher' ? formEvents : userEvents
  }
  const servers = new Map<string, string>()
  const databases = new Map<string, Db>()
  for (const consumer of consumers) {
    const { name } = consumer
    const topic = topicOf(name)
    const partitions = [...(await readWatermarks(connection, topic)).keys()]
    const { db, startLive } = await givenReplay(onTopic(consumer, topic), {
      connection,
      catalog: CATALOG,
      keys: { ring, topic: userKeys },
    })
    await startLive()
    const barrier = createBarrier({ db, logAdmin, projection: name, topic })
    await barrier(partitions, AbortSignal.timeout(SOON.timeout))
    const countKeyPartitions = async () => partitions.length
    const routes = serveCalls(
      { ...deadLetterCalls, ...personalDataCalls },
      { ...answerDeadLetters(name, db), ...answerPersonalData({ readDb: db, barrier, countKeyPartitions }) },
    )
    servers.set(name, await serve(routes))
    databases.set(name, db)
  }
  const refusal = {
    id: '01993b7e-0000-7000-8000-000000000000',
    at: '2026-11-02T10:00:00.000Z',
    reason: 'event-limit',
    status: 402,
    message: 'The limit is reached',
    route: '/v2/admin/track-event',
    requestId: personOf('ada').userId,
    key: { name: 'backend', kind: 'admin', environment: 'P' },
    userId: personOf('ada').userId,
  } satisfies KeptRefusal
  const isOfRefusal = (project: string, userId: string | undefined) =>
    project === PLACE.project && userId === refusal.userId
  const { readRefusals } = gatewayCalls
  const ofGateway = serveCalls(
    { readRefusals },
    {
      readRefusals: async ({ project, userId }) => ({ refusals: isOfRefusal(project, userId) ? [refusal] : [] }),
    },
  )
  servers.set('gateway', await serve(ofGateway))

  async function exported(person: Person) {
    let text = ''
    const end = await exportPerson({
      person,
      connection,
      services: Object.fromEntries([...servers].map(([service, url]) => [service, createAddresses([url])])),
      token: TOKEN,
      env: SECRET_ENV,
      topics,
      write: async (lines) => void (text += lines),
      onProgress: () => {},
    })
    const lines = text.split('\n').slice(0, -1)
    return { end, text, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) }
  }
  return { exported, databases, userEvents, formEvents }
}

/** Keys decrypt records, and outcomes repeat ids of records. */
const NOT_EXPORTED: ReadonlySet<string> = new Set(['user_keys', 'idempotent_outcomes'])

/** Returns the tables with rows of people that an export contains. */
async function tablesOf(databases: ReadonlyMap<string, Db>): Promise<readonly string[]> {
  const found: string[] = []
  for (const [name, db] of databases) {
    const tables = await db.$queryRaw<{ table: string }[]>(sql`
      SELECT table_name AS "table" FROM information_schema.columns
      WHERE table_schema = current_schema() AND column_name = 'user_id'`)
    found.push(...tables.flatMap(({ table }) => (NOT_EXPORTED.has(table) ? [] : `${name}/${table}`)))
  }
  return found.toSorted()
}

it('contains everything of a person between a header and a summary, and nothing of or about others', async () => {
  const { exported, databases, userEvents, formEvents } = await givenProduct()
  // Consumers may not have read the last records yet. The export says so.
  const { text, lines } = await vi.waitFor(
    async () => {
      const written = await exported(personOf('ada'))
      expect(written.end).toMatchObject({ outcome: 'written', missing: [] })
      return written
    },
    { timeout: 40_000, interval: 500 },
  )
  const sources = [...consumers.map(({ name }) => name), 'gateway', userEvents, formEvents]
  expect(lines[0]).toMatchObject({ type: 'export', ...personOf('ada'), sources })
  for (const word of ['trait', 'browser', 'property', 'poison', 'form']) expect(text).toContain(`ada-${word}`)
  expect(text).not.toContain('bob')
  const between = lines.slice(1, -1)
  const counts = Map.groupBy(between, ({ type }) => type)
  expect(lines.at(-1)).toEqual({
    type: 'summary',
    counts: Object.fromEntries([...counts].map(([type, all]) => [type, all.length])),
    isComplete: true,
    missing: [],
  })
  const ofType = (type: string, source: string) =>
    between.filter((one) => one['type'] === type && one['source'] === source)
  expect(ofType('profile', 'user-projector')).toEqual([
    expect.objectContaining({
      userName: 'ada',
      traits: { colour: 'ada-trait' },
      device: { $browser: 'ada-browser' },
      firstSeenAt: '2026-11-02T10:00:00.000Z',
    }),
  ])
  expect(ofType('event-count', 'user-projector')).toMatchObject([
    { slug: 'checkout_completed', count: 1, latestAt: ['2026-11-02T10:00:00.000Z'] },
  ])
  expect(ofType('segment', 'user-projector')).toMatchObject([{ segmentId: 'red' }])
  expect(ofType('queued-form', 'form-trigger-evaluator')).toMatchObject([{ formId: 'nps', state: 'waiting' }])
  expect(ofType('decision', 'form-trigger-evaluator')).toMatchObject([
    {
      formId: 'ces',
      outcome: 'not-in-audience',
      gates: expect.arrayContaining([expect.objectContaining({ gate: 'audience' })]),
    },
    { formId: 'nps', outcome: 'queued' },
  ])
  expect(ofType('active-month', 'metering')).toMatchObject([{ month: '2026-11' }])
  // The eraser has no poison.
  expect(between.filter(({ type }) => type === 'dead-letter')).toHaveLength(consumers.length - 1)
  expect(ofType('refusal', 'gateway')).toMatchObject([{ reason: 'event-limit' }])
  const records = between.filter(({ type }) => type === 'record')
  expect(records.map(({ topic }) => topic)).toEqual([userEvents, userEvents, userEvents, formEvents])
  expect(records[1]).toMatchObject({
    value: { eventName: 'Checkout Completed', properties: { coupon: 'ada-property' } },
  })
  const ofUserId = { ...personOf('ada'), userName: undefined }
  expect((await exported(ofUserId)).lines.at(-1)).toEqual(lines.at(-1))
  const unknown = { end: { outcome: 'unknown' }, text: '', lines: [] }
  expect(await exported(personOf('carol'))).toEqual(unknown)
  expect(await exported({ ...ofUserId, project: 'blog' })).toEqual(unknown)
  // A new table gets a type of its own.
  expect(await tablesOf(databases)).toEqual(Object.keys(TYPE_OF_TABLE).toSorted())
})

it('names services that do not answer, and contains the rest', async () => {
  const { connection, topics } = await givenLogOfPeople()
  let text = ''
  const end = await exportPerson({
    person: personOf('ada'),
    connection,
    services: { gateway: createAddresses(['http://127.0.0.1:1']) },
    token: TOKEN,
    env: SECRET_ENV,
    topics,
    write: async (lines) => void (text += lines),
    onProgress: () => {},
  })
  const missing = [...consumers.map(({ name }) => name), 'gateway'].map((source) => expect.objectContaining({ source }))
  expect(end).toMatchObject({ outcome: 'written', missing })
  const summary = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as object
  expect(summary).toMatchObject({ isComplete: false, missing, counts: { record: 4 } })
})

/** Returns the rows that remain of an erased person. */
const tracesIn = (name: string) => [
  { table: 'erased_users', row: { erasure_id: 'the-erasure' } },
  ...(name === 'metering' ? [{ table: 'mau_members', row: { month: '2026-11' } }] : []),
]

/** Starts consumers that have only the rows that remain of an erased person, and exports the person. */
async function exportedWithTraces({ connection, topics }: Awaited<ReturnType<typeof givenSealedLog>>) {
  const noRefusals = serveCalls(REFUSALS_ONLY, { readRefusals: async () => ({ refusals: [] }) })
  const services: Record<string, Addresses> = {
    gateway: createAddresses([await serve(noRefusals)]),
  }
  for (const { name } of consumers) {
    const routes = serveCalls(
      { readUserRows: personalDataCalls.readUserRows, listOfKey: deadLetterCalls.listOfKey },
      {
        readUserRows: async () => ({ rows: tracesIn(name), next: null }),
        listOfKey: async () => ({ letters: [], next: null }),
      },
    )
    services[name] = createAddresses([await serve(routes)])
  }
  let text = ''
  const end = await exportPerson({
    person: personOf('ada'),
    connection,
    services,
    token: TOKEN,
    env: SECRET_ENV,
    topics,
    write: async (lines) => void (text += lines),
    onProgress: () => {},
  })
  return { end, text }
}

it('opens the records of a person, and knows nothing of an erased one until the person returns', async () => {
  const log = await givenSealedLog()
  const facts = factsOf('ada')
  for (const fact of facts) await log.record(fact)
  const before = await exportedWithTraces(log)
  expect(before.end).toMatchObject({ outcome: 'written', lines: 2 + consumers.length + 1 })
  for (const word of ['trait', 'browser', 'property']) expect(before.text).toContain(`ada-${word}`)

  const destroyed = await log.erase(personOf('ada'))
  expect(await exportedWithTraces(log)).toEqual({ end: { outcome: 'unknown' }, text: '' })
  await log.publishKey(destroyed)
  expect(await exportedWithTraces(log)).toEqual({ end: { outcome: 'unknown' }, text: '' })

  await log.record({ ...identifyRequested({ operations: { set: { colour: 'new' } } }), ...personOf('ada') })
  const { end, text } = await exportedWithTraces(log)
  expect(end).toMatchObject({ outcome: 'written', lines: 1 + consumers.length + 1 })
  expect(text).toContain('"colour":"new"')
  expect(text).not.toMatch(/ada-(trait|browser|property)/)
})
