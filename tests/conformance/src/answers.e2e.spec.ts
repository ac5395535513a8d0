import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  eventually,
  readTopic,
  readUserEvents,
  startThrowAwayStack,
  type ThrowAwayStack,
} from '@nextvisit/testing/black-box'

const CLI = path.resolve(import.meta.dirname, '../../../tools/cli/src/main.ts')
const CONSUMERS = ['user-projector', 'trait-registry', 'metering', 'form-trigger-evaluator', 'user-eraser']
/** Part of every word of the person's answers. */
const CANARY = 'canary-of-answers'

const QUESTIONS = `
              languages: [en, de]
              elements:
                - { id: score, type: nps, label: { en: How likely?, de: Wie wahrscheinlich? }, required: true }
                - { id: reason, type: text, label: { en: Why?, de: Warum? }, showIf: { answer: score, atMost: 6 } }
                - { id: plan, type: choice, other: true, options: [{ id: monthly, label: Monthly }] }`

const workspace = (form: string) => `
organizations:
  - id: demo
    plan: { eventsPerMonth: 2, monthlyActiveUsers: 2 }
    projects:
      - id: shop
        keys:
          - { name: backend, kind: admin, environment: P, secret: $DEMO_ADMIN_KEY, mayErase: true }
          - { name: web, kind: sdk, environment: P, secret: $DEMO_SDK_KEY }
        forms:
          - id: other
            triggers: [{ event: never }]
${form}
`
const formWith = (content: string) => `
          - id: nps
            triggers: [{ event: bought }]
            frequency: { repeat: always }
            content: ${content}`

let stack: ThrowAwayStack
let folder: string

interface Answer {
  readonly status: number
  readonly text: string
  readonly isRepeat: boolean
  readonly body: Readonly<Record<string, unknown>>
}

interface Sent {
  readonly kind?: 'admin' | 'sdk'
  readonly idempotencyKey?: string
}

async function send(method: string, where: string, body?: object, { kind = 'admin', idempotencyKey }: Sent = {}) {
  const response = await fetch(`${stack.gatewayUrl}${where}`, {
    method,
    headers: {
      'content-type': 'application/json',
      'x-api-key': stack.keys[kind],
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const received = await response.text()
  const isRepeat = response.headers.get('idempotent-replayed') === 'true'
  return { status: response.status, text: received, isRepeat, body: JSON.parse(received) as Answer['body'] }
}

/** Sends again while a part is unavailable, as on a busy machine. */
const carefully = (method: string, where: string, body?: object, sent: Sent = {}): Promise<Answer> =>
  eventually(
    () => send(method, where, body, sent),
    ({ status }) => status !== 503,
    30_000,
    500,
  )
const post = (where: string, body: object, sent?: Sent) => carefully('POST', where, body, sent)
const get = (where: string) => carefully('GET', where)
const give = (body: object, sent: Sent = {}) =>
  post(sent.kind === 'admin' ? '/v2/admin/answers' : '/v2/sdk/answers', body, { kind: 'sdk', ...sent })

async function nextvisit(...args: readonly string[]) {
  const env = {
    NEXTVISIT_DATA: stack.dataDirectory,
    DEMO_ADMIN_KEY: stack.keys.admin,
    DEMO_SDK_KEY: stack.keys.sdk,
  }
  const child = spawn(process.execPath, [CLI, ...args], { env })
  const [stdout, stderr, exitCode] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ])
  return { exitCode, stdout, output: `${stdout}${stderr}` }
}

async function apply(form: string): Promise<void> {
  const file = path.join(folder, 'workspace.yaml')
  await writeFile(file, workspace(form))
  expect(await nextvisit('apply', file)).toMatchObject({ exitCode: 0 })
}

async function isSettled(): Promise<boolean> {
  const { stdout } = await nextvisit('status', '--json')
  const { consumers } = JSON.parse(stdout) as { consumers: readonly { readonly lagRecords: number }[] }
  return consumers.every(({ lagRecords }) => lagRecords === 0)
}
const settle = async () => expect(await eventually(isSettled, Boolean, 60_000, 500)).toBe(true)

/** Returns the answers in the log, opened while there are keys. */
const answersInLog = async () =>
  (await readUserEvents(stack)).map(({ value }) => value).filter(({ type }) => type === 'AnswerGiven')
const userPath = (userName: string) => `/v2/admin/users/${encodeURIComponent(userName)}`
const rowsOf = async (userName: string) => (await get(`${userPath(userName)}/forms`)).body['queue']

const readDecisions = async () => (await readTopic(stack.brokers, 'form-events')).map(({ value }) => value)

/** Waits until so many outcomes of a user's answers are in the log. Returns them in their order. */
async function outcomesOf(userName: string, count: number): Promise<readonly string[]> {
  const { userId } = (await get(userPath(userName))).body
  const isOutcome = ({ type, userId: id }: Readonly<Record<string, unknown>>) =>
    type === 'FormAnswered' && id === userId
  const facts = await eventually(readDecisions, (all) => all.filter(isOutcome).length >= count, 30_000, 500)
  return facts.filter(isOutcome).map(({ outcome, status }) => `${String(outcome)} ${String(status)}`)
}
const usage = async () => (await get('/v2/admin/usage')).body

const exportTopic = () => nextvisit('export', '--topic', 'user-events', '--out', '-')

async function expectNoDifference(): Promise<void> {
  await settle()
  expect(await nextvisit('audit')).toMatchObject({ exitCode: 0 })
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  stack = await startThrowAwayStack({
    inMemory: true,
    workspace: workspace(formWith(QUESTIONS)),
    serviceEnvironment: { ERASURE_KEY_RETENTION: '10s', LOG_LEVEL: 'debug', GATEWAY_REQUEST_BUDGET_MS: '5000' },
  })
}, 180_000)
afterAll(async () => {
  await stack?.remove()
  await rm(folder, { recursive: true, force: true })
}, 60_000)

// Each test continues where the one before ended.
describe('answers to forms (forms.md, Answers)', { timeout: 240_000 }, () => {
  const userName = 'ada@example.com'
  let offer: Readonly<Record<string, unknown>>
  let counted: object
  const answered = () => ({
    userName,
    offerId: offer['offerId'],
    formId: offer['formId'],
    revision: offer['revision'],
    language: offer['language'],
  })

  it('follow a visit: each request is one sealed fact of the user', async () => {
    await post('/v2/admin/identify-user', { userName, $deviceInfo: { $userLanguage: 'de' } })
    await post('/v2/admin/identify-user', { userName: 'bob' })
    for (const name of [userName, 'bob'])
      expect((await post('/v2/admin/track-event', { userName: name, eventName: 'Bought' })).status).toBe(202)
    const { body } = await post('/v2/sdk/identify-user', { userName }, { kind: 'sdk' })
    offer = body['nextFeedback'] as typeof offer
    expect(offer).toMatchObject({ formId: 'nps', revision: 1, language: 'de' })
    await settle()
    counted = await usage()

    const partial = await give({ ...answered(), answers: { score: 4 }, status: 'partial' })
    expect(partial).toMatchObject({ status: 202, body: { status: 'partial' } })
    const complete = { score: 4, reason: `${CANARY} 😀`, plan: { other: `${CANARY}-plan` } }
    const finished = await give({ ...answered(), answers: complete, status: 'finished' })
    expect(finished).toMatchObject({ status: 202, body: { status: 'finished' } })

    const facts = await answersInLog()
    expect(facts).toMatchObject([
      { id: partial.body['requestId'], userName, source: 'sdk', status: 'partial', answers: { score: 4 } },
      { id: finished.body['requestId'], ...answered(), status: 'finished', answers: complete },
    ])
    await settle()
    const times = { startedAt: facts[0]?.['received'], endedAt: facts[1]?.['received'] }
    expect(await rowsOf(userName)).toMatchObject([{ state: 'delivered', answerStatus: 'finished', ...times }])
    const why = await nextvisit('why', '--project', 'demo/shop', '--user', userName)
    expect(why.stdout).toContain(`The user finished it at ${String(times.endedAt)}.`)
    for (const topic of ['user-events', 'form-events']) {
      const clear = JSON.stringify((await readTopic(stack.brokers, topic)).map(({ value }) => value))
      expect(clear).not.toContain(CANARY)
    }
  })

  it('have one fact under an Idempotency-Key, also if both requests come at once', async () => {
    const body = { ...answered(), answers: { score: 9, reason: 'hidden' }, status: 'finished' }
    const key = { idempotencyKey: 'answer-1' }
    const [one, other] = await Promise.all([
      eventually(
        () => give(body, key),
        ({ status }) => status !== 409,
        30_000,
      ),
      eventually(
        () => give(body, key),
        ({ status }) => status !== 409,
        30_000,
      ),
    ])
    const repeat = await give(body, key)
    expect([one.status, other.text, repeat.text, repeat.isRepeat]).toEqual([202, one.text, one.text, true])
    const facts = (await answersInLog()).filter(({ id }) => id === one.body['requestId'])
    expect(facts).toMatchObject([{ keyed: true, answers: { score: 9 } }])
    expect(facts[0]?.['answers']).not.toHaveProperty('reason')
  })

  it('are checked against the content that the user saw, after an edit and after the removal of the form', async () => {
    await apply(formWith('{ elements: [{ id: stars, type: rating }] }'))
    const old = { ...answered(), answers: { score: 10 }, status: 'finished' }
    const edited = { userName, offerId: offer['offerId'], formId: 'nps', revision: 2, answers: { stars: 5 } }
    expect((await give(old)).status).toBe(202)
    expect((await give({ ...edited, status: 'finished' }, { kind: 'admin' })).status).toBe(202)
    expect((await give({ ...old, revision: 2, language: 'en' })).body).toMatchObject({
      status: 400,
      message: expect.stringContaining('answers.score'),
    })
    await apply('')
    expect((await give(old)).status).toBe(202)
    expect((await give({ ...old, revision: 7 })).body).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^formId /),
    })
  })

  it('of unknown users are refused, and an offer that the user never had is recorded', async () => {
    const own = { ...answered(), answers: {}, status: 'dismissed' }
    expect((await give({ ...own, userName: 'nobody' })).status).toBe(404)
    expect(await give({ ...own, userName: 'bob' })).toMatchObject({ status: 202, body: { status: 'dismissed' } })
  })

  it('are neither events nor active users, even beyond the plan', async () => {
    await settle()
    expect(await usage()).toEqual(counted)
    expect((await post('/v2/admin/track-event', { userName, eventName: 'Bought' })).status).toBe(402)
    expect((await give({ ...answered(), answers: { score: 1 }, status: 'partial' })).status).toBe(202)
    const { body } = await get(userPath(userName))
    expect(Object.keys(body['events'] as object)).toEqual(['bought'])
  })

  it('have one outcome each: the audit and a replay of each consumer find no difference', async () => {
    await expectNoDifference()
    const late = [...Array.from({ length: 4 }, () => 'late finished'), 'late partial']
    expect(await outcomesOf(userName, 7)).toEqual(['recorded partial', 'recorded finished', ...late])
    expect(await outcomesOf('bob', 1)).toEqual(['unmatched dismissed'])
    const rows = await rowsOf(userName)
    for (const replay of await Promise.all(CONSUMERS.map((consumer) => nextvisit('replay', consumer))))
      expect(replay).toMatchObject({
        exitCode: 0,
        output: expect.stringContaining('Rebuilt and live rows are equal'),
      })
    expect(await rowsOf(userName)).toEqual(rows)
    await expectNoDifference()
  })

  it('are in exports of the person, and unreadable and hidden once the person is erased', async () => {
    const exportPerson = () => nextvisit('users', 'export', '--project', 'demo/shop', '--user', userName)
    for (const { stdout } of [await exportPerson(), await exportTopic()]) {
      expect(stdout).toContain(`${CANARY} 😀`)
      expect(stdout).toContain(`${CANARY}-plan`)
    }
    const facts = (await answersInLog()).length

    const { body } = await post('/v2/admin/erasures', { userNames: [userName] })
    const isComplete = async () => (await get(`/v2/admin/erasures/${String(body['erasureId'])}`)).body
    const ended = await eventually(isComplete, ({ status }) => status === 'complete', 120_000, 1_000)
    expect(ended).toMatchObject({ status: 'complete' })

    for (const { stdout } of [await exportPerson(), await exportTopic()]) expect(stdout).not.toContain(CANARY)
    const left = await answersInLog()
    expect(left).toHaveLength(facts)
    expect(JSON.stringify(left)).not.toContain(CANARY)
    expect((await give({ ...answered(), answers: { score: 1 }, status: 'partial' })).status).toBe(404)
    await post('/v2/admin/erasures', { userNames: ['bob'], suppress: true })
    const suppressed = await give({ ...answered(), userName: 'bob', answers: {}, status: 'dismissed' })
    expect(suppressed).toMatchObject({ status: 403, body: { message: 'User is suppressed' } })
    await expectNoDifference()
  })
})
