import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import {
  answerCollectorCalls,
  type CollectedAnswer,
  FormContent,
  OrganizationConfig,
  userProjectorCalls,
} from '@nextvisit/contracts'
import { contentHashOf } from '@nextvisit/domain'
import { type LogConnection, withLogAdmin } from '@nextvisit/log'
import { createInternalServer, createLogger, createMetrics, NOT_FOUND, serveCalls } from '@nextvisit/service-kit'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { withEnvironment } from '../../test/config.ts'
import { changesBy } from '../../test/changes-by.ts'
import { runNextvisit } from '../../test/run-nextvisit.ts'
import { type AnswersExportFlags, answersExport } from './answers.ts'
import { parseProject } from '../options.ts'
import { applyWorkspace } from '../workspace/apply-workspace.ts'

const connection: LogConnection = { brokers: inject('kafkaBrokers').split(','), clientId: 'cli-spec' }
const topic = `test-catalog-${randomUUID().slice(0, 8)}`
const erasures = `${topic}.erasures`
const TOKEN = 'a-token-for-this-spec'
const AT = '2026-11-02T10:00:00.000Z'
/** More than one page. */
const ANSWERS = 1_500
const ERASED = randomUUID()

const contentOf = (id: string) => FormContent.parse({ elements: [{ id, type: 'text' }] })
const [OLD, NEW] = [contentOf('old'), contentOf('new')]

const answerAt = (index: number): CollectedAnswer => ({
  answerId: randomUUID(),
  userId: index === 0 ? ERASED : randomUUID(),
  offerId: randomUUID(),
  revision: 1,
  language: 'en',
  environment: 'P',
  status: 'finished',
  answers: index % 2 === 0 ? { old: '=1+1' } : { new: 'a "b", c' },
  startedAt: AT,
  endedAt: AT,
  causeId: randomUUID(),
})
const answers = Array.from({ length: ANSWERS }, (_, index) => answerAt(index))

/** Set by a test: what the services do. */
const now = { stale: false, isLost: false }
const asked: unknown[] = []
const server = createInternalServer({
  host: '127.0.0.1',
  port: 0,
  token: TOKEN,
  routes: serveCalls(
    { readFormAnswers: answerCollectorCalls.readFormAnswers, readUserNames: userProjectorCalls.readUserNames },
    {
      readFormAnswers: async ({ formId, environment, limit, after }) => {
        asked.push(environment)
        if (formId !== 'nps' && formId !== 'gone') return NOT_FOUND
        if (now.isLost && after !== undefined) throw new Error('The service is stopping')
        const from = after === undefined ? 0 : answers.findIndex(({ offerId }) => after.endsWith(offerId)) + 1
        const page = answers.slice(from, from + limit)
        const last = page.at(-1)
        const next = last && from + limit < answers.length ? `${last.startedAt}_${last.offerId}` : null
        return { answers: page, next, ...(now.stale && { stale: true as const }) }
      },
      readUserNames: async ({ questions }) => ({
        answers: questions.map(({ userId }) =>
          userId === ERASED
            ? { userName: null, fence: { offset: '1', keysUntil: AT, erasureId: randomUUID() } }
            : { userName: `+${userId}` },
        ),
      }),
    },
  ),
  isLive: () => ({ status: 'available' }),
  isReady: () => ({ status: 'available' }),
  metrics: createMetrics('spec'),
  logger: createLogger('spec', 'silent'),
})
let url: string
let folder: string

async function apply(content: FormContent, revision: number): Promise<void> {
  const hash = contentHashOf(content)
  const forms = [
    { id: 'nps', triggers: [], content: { revision, hash } },
    { id: 'unused', triggers: [] },
  ]
  const organizations = [OrganizationConfig.parse({ id: 'acme', projects: [{ id: 'shop', forms }] })]
  const contents = [{ organization: 'acme', project: 'shop', formId: 'nps', hash, content }]
  await applyWorkspace({ connection, organizations, contents, appliedBy: 'spec', topic })
}

beforeAll(async () => {
  for (const name of [topic, erasures])
    await withLogAdmin(connection, (admin) => admin.createTopic(name, { partitions: 1 }))
  await apply(OLD, 1)
  await apply(NEW, 2)
  url = `http://127.0.0.1:${(await server.start()).port}`
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})
beforeEach(() => Object.assign(now, { stale: false, isLost: false }))

type Flags = Partial<Omit<AnswersExportFlags, 'project'>> & { readonly project?: string }

/** Exports into a file, and returns its text; undefined: there is none. */
async function exportAnswers({ project = 'shop', ...own }: Flags = {}) {
  const name = `${randomUUID()}${own.format === 'csv' ? '.csv.gz' : '.ndjson'}`
  const out = path.join(folder, name)
  const flags = {
    form: 'nps',
    environment: 'P',
    format: 'ndjson',
    out,
    ...own,
    project: parseProject(project),
  } as const
  let told = ''
  const spy = vi.spyOn(console, 'error').mockImplementation((line: string) => void (told += `${line}\n`))
  onTestFinished(() => spy.mockRestore())
  const actor = `spec ${randomUUID()}`
  const env = {
    NEXTVISIT_ACTOR: actor,
    KAFKA_BROKERS: inject('kafkaBrokers'),
    ANSWER_COLLECTOR_URLS: url,
    USER_PROJECTOR_URLS: url,
    INTERNAL_TOKEN: TOKEN,
  }
  const work = () => answersExport(flags, { catalog: topic, erasures })
  const failed = await withEnvironment(env, work).then(
    () => undefined,
    (error: Error & { readonly exitCode: number }) => error,
  )
  const files = (await readdir(folder)).filter((file) => file.startsWith(name))
  const bytes = files.length === 0 ? undefined : await readFile(out)
  const text = own.format === 'csv' && bytes ? gunzipSync(bytes).toString() : bytes?.toString()
  return { text, told, actor, exitCode: failed?.exitCode ?? 0, reason: failed?.message }
}

describe('nextvisit answers export', () => {
  it('writes every page as NDJSON, with names and without erased users', async () => {
    const { exitCode, text = '', told, actor } = await exportAnswers()
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines).toEqual(answers.slice(1).map((answer) => ({ ...answer, userName: `+${answer.userId}` })))
    expect(told).toMatch(/^Wrote 1,499 answers of nps to \S+ in [\d.]+ s\.\nLeft out 1 of erased users\.\n$/)
    expect([exitCode, asked.at(-1)]).toEqual([0, 'P'])
    const details = { environment: 'P', answers: ANSWERS - 1 }
    const recorded = { kind: 'answers.export', project: 'shop', target: 'nps', outcome: 'made', details }
    expect(await changesBy(actor)).toMatchObject([recorded])
  })

  it('writes a compressed table, with the elements of every revision', async () => {
    const { exitCode, text = '' } = await exportAnswers({ project: 'acme/shop', environment: 'T', format: 'csv' })
    const [head, first, second] = text.split('\r\n')
    expect(head).toMatch(/^answerId,userId,userName,.*,causeId,answers\.new,answers\.old$/)
    expect(first).toMatch(new RegExp(`^${answers[1]?.answerId},[^,]+,'\\+.*,"a ""b"", c",$`))
    expect(second).toMatch(/,,'=1\+1$/)
    expect([exitCode, asked.at(-1)]).toEqual([0, 'T'])
  })

  it('writes only the header for a form of the workspace without answers, and knows removed forms', async () => {
    const none = await exportAnswers({ form: 'unused', format: 'csv' })
    expect(none).toMatchObject({ exitCode: 0, told: expect.stringContaining('Wrote 0 answers') })
    expect(none.text).toMatch(/^answerId,.*,causeId\r\n$/)
    expect(await exportAnswers({ form: 'gone' })).toMatchObject({ exitCode: 0 })
  })

  it('leaves no file if a service fails between two pages', async () => {
    now.isLost = true
    const reason = expect.stringContaining('The answer collector cannot answer now')
    expect(await exportAnswers()).toMatchObject({ exitCode: 1, text: undefined, reason })
  })

  it('exits with 1 if the latest answers may be missing', async () => {
    now.stale = true
    const reason = expect.stringContaining('The latest answers may be missing')
    expect(await exportAnswers()).toMatchObject({ exitCode: 1, text: expect.any(String), reason })
  })

  it.each([
    [{ form: 'npss' }, /no form npss.* Known: nps, unused\./],
    [{ project: 'shopp' }, /There is no project shopp/],
    [{ project: 'acme/shopp', form: 'x' }, /There is no project acme\/shopp/],
  ])('exits with 2 for %j, and leaves no file', async (flags, reason) => {
    const matching = { exitCode: 2, text: undefined, reason: expect.stringMatching(reason) }
    expect(await exportAnswers(flags)).toMatchObject(matching)
  })

  it.each([
    [['--project', 'shop'], /--form/],
    [['--project', 'shop', '--form', 'nps', '--format', 'xlsx'], /ndjson, csv/],
    [['--project', 'shop', '--form', 'nps', '--environment', 'prod'], /P, T/],
  ])('exits with 2 for %j', async (args, message) => {
    const ended = await runNextvisit(['answers', 'export', ...args], {})
    expect(ended).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(message) })
  })

  it('explains itself on one screen', async () => {
    const { stdout } = await runNextvisit(['answers', 'export', '--help'], {})
    expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(32)
  })
})
