import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { consumers } from '@nextvisit/services'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  eventually,
  readMessages,
  startThrowAwayStack,
  type ThrowAwayStack,
  withProducer,
  workspaceVariables,
} from '@nextvisit/testing/black-box'
import { ANSWERS_WORKSPACE, describeAnswers } from './answers.suite.ts'
import { describeFormResults } from './form-results.suite.ts'
import { RESULTS_WORKSPACE } from './polled-people.ts'
import { analyze, placesWith, readLogs, readRedis, readSegments, readTables } from './erasure-places.ts'
import { createStackCaller, createStackCommands, type Ended, type Sent, type StackAnswer } from './stack-commands.ts'
import { describeWebhooks } from './webhooks.suite.ts'

/** Part of every word that tells about the erased people. */
const CANARY = `canary${randomBytes(8).toString('hex')}`
/** Part of a record that another program wrote in clear, so that files of the log contain it. */
const POISON = `poison${randomBytes(8).toString('hex')}`
/** The erased people: one over the API and one from an import. */
const [PERSON, IMPORTED] = [`${CANARY}-person@example.com`, `${CANARY}-imported@example.com`]
const [SUPPRESSED, OTHER] = [`suppressed-${CANARY}`, 'somebody-else@example.com']
const PROJECT = 'demo/shop'
const CONSUMERS = consumers.map(({ name }) => name)
const WITHIN_A_MINUTE = 60_000

// Its gates compare a trait and a property of the person, so the decision quotes them.
const WORKSPACE = `
organizations:
  - id: demo
    projects:
      - id: shop
        keys:
          - { name: backend, kind: admin, environment: P, secret: $DEMO_ADMIN_KEY, mayErase: true }
          - { name: web, kind: sdk, environment: P, secret: $DEMO_SDK_KEY }
        rateLimits: { admin: { perSecond: 5000, burst: 9000 } }
        segments:
          - { id: members, name: Members, where: { trait: plan, is: pro } }
        forms:
          - id: nps
            name: Nps
            triggers: [{ event: checkout_completed }]
            frequency: { repeat: always }
            priority: 10
            content: { elements: [{ id: reason, type: text, maxLength: 50 }] }
          - id: coupon
            name: Coupon
            triggers: [{ event: checkout_completed, where: { property: coupon, is: gold } }]
            audience: { trait: plan, is: pro }
          - id: colour
            name: Colour
            triggers: [{ event: checkout_completed }]
            audience: { trait: colour, is: red }
${ANSWERS_WORKSPACE}${RESULTS_WORKSPACE}`
const VARIABLES = workspaceVariables(`${ANSWERS_WORKSPACE}${RESULTS_WORKSPACE}`)

let stack: ThrowAwayStack
let folder: string
/** The userIds of the erased people. */
let erased: readonly string[]

const { nextvisit, startNextvisit, listChanges, settle } = createStackCommands(() => stack, VARIABLES)
const { carefully, post, get } = createStackCaller(
  () => stack,
  () => stack.keys.admin,
)
const identify = (body: object, rest?: Sent) => post('/v2/admin/identify-user', body, rest)
const track = (body: object, rest?: Sent) => post('/v2/admin/track-event', body, rest)
const visit = (body: object) => post('/v2/sdk/identify-user', body, { key: stack.keys.sdk })
const profile = (userName: string) => get(`/v2/admin/users/${encodeURIComponent(userName)}`)
const keyOf = (write: string) => ({ authorization: `Basic ${Buffer.from(`${write}:`).toString('base64')}` })

/** Imports the same history in a file of this name, which has an import of its own. */
async function importHistory(name: string): Promise<Ended> {
  const file = path.join(folder, name)
  const past = { userName: IMPORTED, occurredAt: '2024-01-01T00:00:00Z' }
  const lines = [
    { ...past, type: 'identify', userAttributes: { $set: { colour: `${CANARY}-imported` } } },
    { ...past, type: 'track', eventName: 'Viewed', properties: { url: `${CANARY}-past` } },
  ]
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return nextvisit('import', file, '--project', PROJECT)
}

/** Leaves words of the person in every place that the product has. */
async function plant(): Promise<void> {
  const words = { plan: 'pro', colour: `${CANARY}-trait`, email: PERSON }
  const device = { $deviceId: `${CANARY}-device`, $app: `${CANARY}-app`, $browser: `${CANARY}-browser` }
  const first = await identify({ userName: PERSON, userAttributes: { $set: words }, $deviceInfo: device })
  expect(first.status).toBe(200)
  expect((await identify({ userName: OTHER, userAttributes: { $set: { plan: 'pro' } } })).status).toBe(200)

  const properties = { coupon: 'gold', [`${CANARY}-name`]: `${CANARY}-property` }
  const keyed = { headers: { 'idempotency-key': `${CANARY}-key` } }
  const checkout = { userName: PERSON, eventName: 'Checkout Completed', properties }
  expect(await track(checkout, keyed)).toMatchObject({ status: 202, body: { formsQueued: 2 } })
  expect((await track({ ...checkout, userName: OTHER, properties: { coupon: 'gold' } })).status).toBe(202)
  expect(await visit({ userName: PERSON, $deviceInfo: device })).toMatchObject({ status: 200 })
  const answer = { userName: PERSON, offerId: randomUUID(), formId: 'nps', revision: 1, status: 'finished' }
  const give = (reason: string) => post('/v2/admin/answers', { ...answer, answers: { reason } })
  expect((await give(`${CANARY}-answer`)).status).toBe(202)
  expect((await give(`${CANARY}-${'long'.repeat(20)}`)).status).toBe(400)
  expect((await track({ ...checkout, properties: { coupon: `${CANARY}-silver` } })).status).toBe(202)

  const items = [
    { type: 'identify', userName: PERSON, userAttributes: { $set: { city: `${CANARY}-city` } } },
    { type: 'track', userName: PERSON, eventName: 'Viewed', properties: { [`${CANARY}-page`]: `${CANARY}-url` } },
    { type: 'track', userName: PERSON, eventName: 'Viewed', properties: { [`${CANARY}-long`]: CANARY.repeat(500) } },
    { type: 'track', userName: `${CANARY}-nobody`, eventName: 'Viewed' },
  ]
  const sendBatch = async () => {
    const batch = await post('/v2/admin/batch', { items }, { headers: { 'idempotency-key': `${CANARY}-batch` } })
    return (batch.body['results'] as StackAnswer[]).map(({ status }) => status)
  }
  const statuses = await eventually(sendBatch, (all) => !all.includes(503) && !all.includes(409), 30_000, 1_000)
  expect(statuses).toEqual([200, 202, 400, 404])
  const message = { userId: PERSON, messageId: `${CANARY}-message`, context: { device: { id: `${CANARY}-segment` } } }
  const messages = [
    { ...message, type: 'identify', traits: { phone: `${CANARY}-phone` } },
    { ...message, messageId: `${CANARY}-2`, type: 'track', event: 'Viewed', properties: { url: `${CANARY}-path` } },
  ]
  expect((await post('/v1/batch', { batch: messages }, { headers: keyOf(stack.keys.admin) })).status).toBe(200)

  const rejected = [
    await identify({ userName: PERSON, userAttributes: { $increment: { visits: `${CANARY}-visits` } } }),
    await identify({ userName: PERSON, userAttributes: { [`$${CANARY}`]: CANARY } }),
    await post('/v2/admin/identify-user', `{"userName":"${PERSON}",${CANARY}`),
    await track({ ...checkout, occurredAt: CANARY }),
    await track({ ...checkout, eventName: 'form:x' }),
  ]
  expect(rejected.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400])

  expect(await importHistory('history.ndjson')).toMatchObject({ exitCode: 0 })

  const key = String(first.body['userId'])
  const value = JSON.stringify({ type: 'IdentifyRequested', userName: POISON, operations: { [POISON]: POISON } })
  const headers = { 'schema-version': '2', ce_id: POISON }
  await withProducer(stack, (producer) => producer.send({ topic: 'user-events', messages: [{ key, value, headers }] }))
  const workspace = path.join(folder, 'workspace.yaml')
  await writeFile(workspace, WORKSPACE)
  expect(await nextvisit('forms', 'dry-run', workspace, '--from', '1d')).toMatchObject({ exitCode: 0 })
  await settle()
  erased = [key, String((await profile(IMPORTED)).body['userId'])]
}

const ALL = [CANARY, POISON]

/** Returns the places outside of the log that have one of the words. */
async function findCopies(): Promise<readonly string[]> {
  const places = [...(await readTables(stack)), ...(await readRedis(stack)), ...(await readLogs(stack))]
  return ALL.flatMap((word) => placesWith(word, places))
}

/** Returns what failed commands said. */
const faultsOf = (ended: readonly Ended[]) => ended.flatMap(({ exitCode, stderr }) => (exitCode === 0 ? [] : stderr))

/** Returns the exports that have one of the words. */
async function findExported(): Promise<readonly string[]> {
  const topics = ['user-events', 'form-events', 'erasures', 'catalog']
  const exportAll = () =>
    Promise.all([
      ...topics.map((topic) => nextvisit('export', '--topic', topic, '--out', '-')),
      nextvisit('users', 'export', '--project', PROJECT, '--user', OTHER),
    ])
  // A part of a busy machine may be late.
  const exports = await eventually(exportAll, (all) => faultsOf(all).length === 0, WITHIN_A_MINUTE, 1_000)
  expect(faultsOf(exports)).toEqual([])
  const places = exports.map(({ stdout }, index) => ({ name: topics[index] ?? `export ${index}`, text: stdout }))
  return ALL.flatMap((word) => placesWith(word, places))
}

async function erase(userNames: readonly string[], suppress: boolean): Promise<string> {
  const { status, body } = await post('/v2/admin/erasures', { userNames, suppress })
  expect(body).toMatchObject({ status: 'running', users: userNames.length })
  expect(status).toBe(202)
  return String(body['erasureId'])
}

const readErasure = async (id: string) => (await get(`/v2/admin/erasures/${id}`)).body
const complete = (id: string) =>
  eventually(
    () => readErasure(id),
    ({ status }) => status === 'complete',
    120_000,
    1_000,
  )

/** Reads everything that the routes tell about a person. */
async function readPerson(): Promise<readonly number[]> {
  const name = encodeURIComponent(PERSON)
  const answers = await Promise.all([
    get(`/v2/admin/users/${name}`),
    get(`/v2/admin/users?userName=${name}`),
    get(`/v2/admin/users/${name}/forms`),
    profile(IMPORTED),
  ])
  return answers.map(({ status }) => status)
}

async function readCounters() {
  const pages = ['usage', 'traits', 'events'].map((page) => get(`/v2/admin/${page}`))
  return (await Promise.all(pages)).map(({ body }) => body)
}

/** Reads all counters that name nobody. */
async function readCounts(): Promise<readonly object[]> {
  // A busy machine may take longer to count everything that was answered.
  return eventually(readCounters, (all) => all.every(({ stale }) => stale === undefined), WITHIN_A_MINUTE, 1_000)
}

type Message = Awaited<ReturnType<typeof readMessages>>[number]
/** Returns the values of keys that `user-keys` has now. */
async function keysNow(): Promise<ReadonlyMap<string, Message>> {
  const messages = await readMessages(stack.brokers, 'user-keys')
  const latest = new Map(messages.map((message) => [String(message.key), message]))
  return new Map([...latest].filter(([, { value }]) => value !== null))
}

const isOfErased = (key: string) => erased.some((userId) => key.startsWith(`${userId}/`))
const erasedKeys = async () => [...(await keysNow()).keys()].filter(isOfErased)

beforeAll(async () => {
  for (const [name, value] of VARIABLES) vi.stubEnv(name, value)
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  stack = await startThrowAwayStack({
    isCheap: true,
    workspace: WORKSPACE,
    // The budget is large, because a busy machine is not an outage.
    serviceEnvironment: {
      ERASURE_KEY_RETENTION: '10s',
      LOG_LEVEL: 'debug',
      GATEWAY_REQUEST_BUDGET_MS: '5000',
      WEBHOOK_RETRY_DELAYS: '1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s',
    },
  })
}, 180_000)
afterAll(async () => {
  vi.unstubAllEnvs()
  await stack?.remove()
  await rm(folder, { recursive: true, force: true })
}, 60_000)

// The replays and audits of the erasure below also cover these records.
describeAnswers(() => stack)
describeFormResults(() => stack)
describeWebhooks(() => stack)

// Each test continues where the one before ended.
describe('an erasure', { timeout: 240_000 }, () => {
  let before: { readonly counts: readonly object[]; readonly keys: ReadonlyMap<string, Message> }
  let erasureId: string

  it('begins with copies of the person in tables, and none in logs, Redis and the files of the log', async () => {
    await plant()
    await analyze(stack)
    const tables = await readTables(stack)
    expect(placesWith(CANARY, tables).toSorted()).toEqual(['forms.decisions', 'forms.users', 'users.users'])
    expect(placesWith(POISON, tables).toSorted()).toEqual(
      ['forms', 'metering', 'registry', 'users'].map((schema) => `${schema}.dead_letters`),
    )
    expect(placesWith(CANARY, [...(await readRedis(stack)), ...(await readLogs(stack))])).toEqual([])
    for (const topic of ['user-events', 'form-events', 'user-keys', 'catalog', 'erasures'])
      expect(placesWith(CANARY, await readSegments(stack, topic))).toEqual([])
    expect((await nextvisit('audit')).exitCode).toBe(0)
    before = { counts: await readCounts(), keys: await keysNow() }
    expect(before.keys.size).toBeGreaterThan(1)
  })

  it('hides the person within a minute, and completes', async () => {
    const beganAt = performance.now()
    erasureId = await erase([PERSON, IMPORTED, `${CANARY}-nobody`], false)
    expect(await eventually(readPerson, (all) => all.every((status) => status === 404), WITHIN_A_MINUTE)).toEqual([
      404, 404, 404, 404,
    ])
    expect((await get('/v2/admin/segments/members/users')).body).not.toHaveProperty('users.1')
    expect(performance.now() - beganAt).toBeLessThan(WITHIN_A_MINUTE)
    const ended = await complete(erasureId)
    expect(ended).toMatchObject({ status: 'complete', users: 3, unknown: 1, suppress: false })
    expect((ended['stores'] as object[]).map((store) => ({ ...store, status: 'complete' }))).toEqual(ended['stores'])
  })

  it('leaves no word of the person in any table, in Redis, in any log or in a fresh export', async () => {
    await analyze(stack)
    expect(await findCopies()).toEqual([])
    expect(await findExported()).toEqual([])
    const export_ = await nextvisit('users', 'export', '--project', PROJECT, '--user', PERSON)
    // Its first line repeats the name that the command was given.
    const exported = export_.stdout.replaceAll(PERSON, '')
    expect(placesWith(CANARY, [{ name: 'users export', text: exported }])).toEqual([])
    expect(await profile(OTHER)).toMatchObject({ status: 200 })
  })

  it('leaves no key of the person in the files of user-keys', async () => {
    const keys = [...before.keys].filter(([key]) => isOfErased(key))
    expect(keys.length).toBeGreaterThan(1)
    const files = await readSegments(stack, 'user-keys')
    for (const [, { value }] of keys) expect(placesWith(String(value), files)).toEqual([])
    expect(await erasedKeys()).toEqual([])
  })

  it('changes no counter, and the audit reports no difference', async () => {
    expect(await readCounts()).toEqual(before.counts)
    expect(await nextvisit('audit')).toMatchObject({ exitCode: 0 })
  })

  it('has a receipt that is valid until it is changed', async () => {
    const { receipt } = await readErasure(erasureId)
    const file = path.join(folder, 'receipt.json')
    await writeFile(file, JSON.stringify(receipt))
    expect(await nextvisit('receipts', 'verify', file)).toMatchObject({ exitCode: 0 })
    await writeFile(file, JSON.stringify({ ...(receipt as object), unknown: 0 }))
    expect(await nextvisit('receipts', 'verify', file)).toMatchObject({ exitCode: 1 })
    expect(JSON.stringify(receipt)).not.toContain(CANARY)
  })

  it('outlives a restore of older keys and a replay of every consumer', async () => {
    const messages = [...before.keys.values()].map(({ key, value, partition }) => ({ key, value, partition }))
    await withProducer(stack, (producer) => producer.send({ topic: 'user-keys', messages }))
    const replays = await Promise.all(CONSUMERS.map((consumer) => startNextvisit('replay', consumer)))
    for (const { exitCode, stdout, stderr } of replays) {
      expect(`${stdout}${stderr}`).toContain('Rebuilt and live rows are equal')
      expect(exitCode).toBe(0)
    }
    expect(await readPerson()).toEqual([404, 404, 404, 404])
    expect(await findCopies()).toEqual([])
    expect(await findExported()).toEqual([])
    expect(await eventually(erasedKeys, (keys) => keys.length === 0, WITHIN_A_MINUTE, 1_000)).toEqual([])
    expect(await readErasure(erasureId)).toMatchObject({ status: 'complete' })
    expect(await readCounts()).toEqual(before.counts)
  })

  it('outlives a second import of a file with the person', async () => {
    expect(await importHistory('again.ndjson')).toMatchObject({ exitCode: 0 })
    await settle()
    expect(await readPerson()).toEqual([404, 404, 404, 404])
    expect(await findCopies()).toEqual([])
    expect(await findExported()).toEqual([])
    expect(await readCounts()).toEqual(before.counts)
  })

  it('lets the person return as a new user, with nothing of the time before', async () => {
    const returnedAt = new Date().toISOString()
    expect((await identify({ userName: PERSON, userAttributes: { $set: { plan: 'new' } } })).status).toBe(200)
    const returned = await eventually(
      () => profile(PERSON),
      ({ status }) => status === 200,
      30_000,
    )
    expect(returned.body).toMatchObject({ traits: { plan: 'new' }, events: {} })
    expect(JSON.stringify(returned.body)).not.toContain(`${CANARY}-trait`)
    expect(String(returned.body['firstSeenAt']) >= returnedAt).toBe(true)
    const usage = await get('/v2/admin/usage')
    expect(usage.body['monthlyActiveUsers']).toEqual(
      (before.counts[0] as Record<string, unknown>)['monthlyActiveUsers'],
    )
    await settle()
    expect(await nextvisit('audit')).toMatchObject({ exitCode: 0 })
  })

  it('with a suppression refuses every record of the person until it is lifted', async () => {
    await identify({ userName: SUPPRESSED })
    await erase([SUPPRESSED], true)
    const message = 'User is suppressed'
    const refused = { status: 403, body: { message: expect.stringContaining(message) } }
    expect(
      await eventually(
        () => identify({ userName: SUPPRESSED }),
        ({ status }) => status === 403,
        5_000,
      ),
    ).toMatchObject(refused)
    expect(await track({ userName: SUPPRESSED, eventName: 'Viewed' })).toMatchObject(refused)
    expect(await visit({ userName: SUPPRESSED })).toMatchObject(refused)
    const items = [{ type: 'identify', userName: SUPPRESSED }]
    expect((await post('/v2/admin/batch', { items })).body).toMatchObject({ results: [{ status: 403 }] })
    const batch = [{ type: 'identify', userId: SUPPRESSED }]
    const segment = await post('/v1/batch', { batch }, { headers: keyOf(stack.keys.admin) })
    expect(segment.body).toMatchObject({ rejected: [{ message: expect.stringContaining(message) }] })
    const file = path.join(folder, 'suppressed.ndjson')
    await writeFile(
      file,
      `${JSON.stringify({ type: 'identify', userName: SUPPRESSED, occurredAt: '2024-01-01T00:00:00Z' })}\n`,
    )
    const imported = await nextvisit('import', file, '--project', PROJECT)
    expect(`${imported.stdout}${imported.stderr}`).toContain('1 rejected')
    const list = await get('/v2/admin/suppressions')
    expect(list.body['suppressions']).toHaveLength(1)
    expect(JSON.stringify(list.body)).not.toContain(CANARY)

    const lift = () => carefully('DELETE', `/v2/admin/suppressions/${encodeURIComponent(SUPPRESSED)}`)
    expect((await lift()).status).toBe(204)
    expect(
      await eventually(
        () => identify({ userName: SUPPRESSED }),
        ({ status }) => status === 200,
        5_000,
      ),
    ).toMatchObject({ status: 200 })
    expect(await eventually(lift, ({ status }) => status === 404, 5_000)).toMatchObject({ status: 404 })
  })

  it('is recorded with the other changes of operators, without a word of the person', async () => {
    // Answers of the gateway do not wait for the ends.
    const changes = await eventually(
      () => listChanges('--limit', '1000'),
      (all) => all.every(({ outcome }) => outcome !== 'begun'),
      30_000,
      500,
    )
    const kinds = new Set(changes.map(({ kind, outcome, actor }) => `${kind} ${outcome} by a ${actor.kind}`))
    expect([...kinds]).toEqual(
      expect.arrayContaining([
        'users.erase made by a key',
        'suppression.lift made by a key',
        'suppression.lift refused by a key',
        'history.import made by a command',
        'person.export made by a command',
        'records.export made by a command',
        'consumer.replay made by a command',
      ]),
    )
    const erasures = changes.filter(({ kind }) => kind === 'users.erase').map(({ details }) => details['erasureId'])
    expect(erasures).toContain(erasureId)
    expect(placesWith(CANARY, [{ name: 'changes', text: JSON.stringify(changes) }])).toEqual([])
  })
})
