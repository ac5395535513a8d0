import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  eventually,
  keyNamed,
  readTopic,
  readUserEvents,
  type ThrowAwayStack,
  workspaceVariables,
} from '@nextvisit/testing/black-box'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createStackCaller, createStackCommands } from './stack-commands.ts'

/** Part of every word of the person's answers. */
const CANARY = 'canary-of-answers'
const ORGANIZATION = 'asked'
const PROJECT = `${ORGANIZATION}/shop`

const QUESTIONS = `
              languages: [en, de]
              elements:
                - { id: score, type: nps, label: { en: How likely?, de: Wie wahrscheinlich? }, required: true }
                - { id: reason, type: text, label: { en: Why?, de: Warum? }, showIf: { answer: score, atMost: 6 } }
                - { id: plan, type: choice, other: true, options: [{ id: monthly, label: Monthly }] }`

const organization = (form: string) => `
  - id: ${ORGANIZATION}
    plan: { eventsPerMonth: 2, monthlyActiveUsers: 2 }
    projects:
      - id: shop
        keys:
          - { name: backend, kind: admin, environment: P, secret: $ASKED_ADMIN_P, mayErase: true }
          - { name: web, kind: sdk, environment: P, secret: $ASKED_SDK_P }
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

/** The organization of these people, for the workspace file of the stack. */
export const ANSWERS_WORKSPACE = organization(formWith(QUESTIONS))

const userPath = (userName: string) => `/v2/admin/users/${encodeURIComponent(userName)}`

/** Tests forms.md, Answers: those of an organization of its own. */
export function describeAnswers(stackOf: () => ThrowAwayStack): void {
  const { nextvisit, settle } = createStackCommands(stackOf, workspaceVariables(ANSWERS_WORKSPACE))
  const { post, get } = createStackCaller(stackOf, () => keyNamed('ASKED_ADMIN_P'))
  const key = keyNamed('ASKED_SDK_P')
  const give = (answers: object, headers = {}) => post('/v2/sdk/answers', answers, { key, headers })
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  async function apply(form: string): Promise<void> {
    const file = path.join(folder, 'workspace.yaml')
    await writeFile(file, `organizations:${organization(form)}`)
    expect(await nextvisit('apply', file)).toMatchObject({ exitCode: 0 })
  }

  /** Returns the answers in the log, opened while there are keys. */
  const answersInLog = async () =>
    (await readUserEvents(stackOf()))
      .map(({ value }) => value)
      .filter(({ type, organization: its }) => type === 'AnswerGiven' && its === ORGANIZATION)
  const rowsOf = async (userName: string) => (await get(`${userPath(userName)}/forms`)).body['queue']
  const readDecisions = async () => (await readTopic(stackOf().brokers, 'form-events')).map(({ value }) => value)

  /** Waits until so many outcomes of a user's answers are in the log. Returns them in their order. */
  async function outcomesOf(userName: string, count: number): Promise<readonly string[]> {
    const { userId } = (await get(userPath(userName))).body
    const isOutcome = ({ type, userId: id }: Readonly<Record<string, unknown>>) =>
      type === 'FormAnswered' && id === userId
    const facts = await eventually(readDecisions, (all) => all.filter(isOutcome).length >= count, 30_000, 500)
    return facts.filter(isOutcome).map(({ outcome, status }) => `${String(outcome)} ${String(status)}`)
  }

  /** Counters of everything that was answered before. A busy machine may take longer. */
  const usage = async () =>
    (
      await eventually(
        () => get('/v2/admin/usage'),
        ({ body }) => body['stale'] === undefined,
        30_000,
        500,
      )
    ).body
  const exportTopic = () => nextvisit('export', '--topic', 'user-events', '--out', '-')

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
      const { body } = await post('/v2/sdk/identify-user', { userName }, { key })
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
      const why = await nextvisit('why', '--project', PROJECT, '--user', userName)
      expect(why.stdout).toContain(`The user finished it at ${String(times.endedAt)}.`)
      for (const topic of ['user-events', 'form-events']) {
        const clear = JSON.stringify((await readTopic(stackOf().brokers, topic)).map(({ value }) => value))
        expect(clear).not.toContain(CANARY)
      }
    })

    it('have one answer to all requests under an Idempotency-Key, also if they come at once', async () => {
      const body = { ...answered(), answers: { score: 9, reason: 'hidden' }, status: 'finished' }
      const keyed = { 'idempotency-key': 'answer-1' }
      const [one, other] = await Promise.all([
        eventually(
          () => give(body, keyed),
          ({ status }) => status !== 409,
          30_000,
        ),
        eventually(
          () => give(body, keyed),
          ({ status }) => status !== 409,
          30_000,
        ),
      ])
      const repeat = await give(body, keyed)
      expect([one.status, other.text, repeat.text, repeat.isRepeat]).toEqual([202, one.text, one.text, true])
      const facts = (await answersInLog()).filter(({ id }) => id === one.body['requestId'])
      // A request that was answered 503 may be in the log, too: consumers drop a second record with its id.
      expect(facts[0]).toMatchObject({ keyed: true, answers: { score: 9 } })
      expect(facts[0]?.['answers']).not.toHaveProperty('reason')
    })

    it('are checked against the content that the user saw, after an edit and after the removal of the form', async () => {
      await apply(formWith('{ elements: [{ id: stars, type: rating }] }'))
      const old = { ...answered(), answers: { score: 10 }, status: 'finished' }
      const edited = { userName, offerId: offer['offerId'], formId: 'nps', revision: 2, answers: { stars: 5 } }
      expect((await give(old)).status).toBe(202)
      expect((await post('/v2/admin/answers', { ...edited, status: 'finished' })).status).toBe(202)
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
      // A gateway that cannot look the user up in time admits the answer.
      const refused = await eventually(
        () => give({ ...own, userName: 'nobody' }),
        ({ status }) => status === 404,
        30_000,
        500,
      )
      expect(refused.status).toBe(404)
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

    it('have one outcome each', async () => {
      const late = [...Array.from({ length: 4 }, () => 'late finished'), 'late partial']
      expect(await outcomesOf(userName, 7)).toEqual(['recorded partial', 'recorded finished', ...late])
      expect(await outcomesOf('bob', 1)).toEqual(['unmatched dismissed'])
    })

    it('are in exports of the person, and unreadable and hidden once the person is erased', async () => {
      const exportPerson = () => nextvisit('users', 'export', '--project', PROJECT, '--user', userName)
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
    })
  })
}
