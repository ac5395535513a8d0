import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import path from 'node:path'
import { type KeptRefusal, OrganizationConfig } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { type LogConnection, withLogAdmin } from '@nextvisit/log'
import { createLogger, createRedis, createRefusalStore } from '@nextvisit/service-kit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { runNextvisit } from '../../test/run-nextvisit.ts'
import { applyWorkspace } from '../workspace/apply-workspace.ts'
import { refusals, type RefusalsFlags } from './refusals.ts'

const MAIN = path.resolve(import.meta.dirname, '../main.ts')
const organization = `org-${randomUUID().slice(0, 8)}`
const shop = { organization, project: 'shop' }
const topic = `test-catalog-${randomUUID().slice(0, 8)}`
const connection: LogConnection = { brokers: inject('kafkaBrokers').split(','), clientId: 'cli-spec' }
const env = { REDIS_URL: inject('redisUrl') }
const logger = createLogger('cli-spec', 'silent')
const redis = createRedis({ url: inject('redisUrl'), name: 'cli-spec', logger, commandTimeoutMs: 10_000 })
const store = createRefusalStore(redis.client)
let printed: string[]
let complained: string[]
let refused = 0

const refusalOf = (userName: string, reason = 'user'): KeptRefusal => ({
  // Ids ascend in the order of creation, even within a millisecond.
  id: `019a4423-5b80-7cc1-8f5d-${String((refused += 1)).padStart(12, '0')}`,
  at: '2026-11-02T10:00:00.000Z',
  reason,
  status: 404,
  message: 'User not found',
  route: '/v2/admin/batch',
  requestId: randomUUID(),
  item: 3,
  key: { name: 'backend', kind: 'admin', environment: 'P' },
  userId: userIdOf(organization, 'shop', userName),
})
const add = (project: string, ...kept: KeptRefusal[]) =>
  store.add([{ organization, project, kept, counts: new Map([['user', kept.length]]) }], Date.now())
const [first, second] = [refusalOf('ada'), refusalOf('bob')]

beforeAll(async () => {
  await redis.start()
  await add('shop', first, second)
  await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions: 1 }))
  const organizations = [OrganizationConfig.parse({ id: organization, projects: [{ id: 'shop' }, { id: 'quiet' }] })]
  await applyWorkspace({ connection, organizations, contents: [], appliedBy: 'spec', topic })
})
afterAll(() => redis.stop())
beforeEach(() => {
  printed = []
  complained = []
  vi.stubEnv('REDIS_URL', inject('redisUrl'))
  vi.stubEnv('KAFKA_BROKERS', inject('kafkaBrokers'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** Runs the command in this process, on a catalog of its own. */
async function show(flags: Partial<RefusalsFlags>): Promise<void> {
  vi.spyOn(console, 'log').mockImplementation((line = '') => void printed.push(line))
  vi.spyOn(console, 'error').mockImplementation((line = '') => void complained.push(line))
  await refusals({ project: shop, limit: 20, ...flags }, topic)
}

describe('nextvisit refusals', () => {
  it('shows the counts and the latest, oldest first', async () => {
    await show({})
    expect(printed).toEqual([
      'Refused in the last 24 hours: user 2',
      expect.stringContaining(`item 3: User not found [key backend (admin, P), request ${first.requestId}, user`),
      expect.stringContaining(second.requestId),
    ])
  })

  it('shows the refusals of one user, and only the latest with --limit', async () => {
    await show({ user: 'ada' })
    expect(printed).toEqual(['Kept refusals of ada: user 1', expect.stringContaining(first.requestId)])
    printed = []
    await show({ user: 'erin' })
    expect(printed).toEqual(['No refusal of erin is kept.'])
    printed = []
    await show({ limit: 1 })
    expect(printed.slice(1)).toEqual([expect.stringContaining(second.requestId)])
    expect(complained).toEqual(['Shown: the latest 1 of 2 kept refusals. Use --limit to show more.'])
  })

  it('counts what it shows: of one user, or of one reason', async () => {
    await show({ json: true, user: 'erin' })
    expect(JSON.parse(printed.join('\n'))).toEqual({ refusals: [], counts: {} })
    printed = []
    await show({ reason: 'pace' })
    expect(printed).toEqual(['Nothing was refused as pace in the last 24 hours.'])
  })

  it('prints JSON', async () => {
    await show({ json: true })
    expect(JSON.parse(printed.join('\n'))).toEqual({ refusals: [first, second], counts: { user: 2 } })
  })

  it('reports that nothing was refused, or that the project does not exist', async () => {
    await show({ project: { organization, project: 'quiet' } })
    expect(printed).toEqual(['Nothing was refused in the last 24 hours.'])
    await expect(show({ project: { organization, project: 'shpo' } })).rejects.toMatchObject({
      exitCode: 2,
      message: `There is no project ${organization}/shpo. Known: ${organization}/quiet, ${organization}/shop.`,
    })
  })

  it('finds the organization of a project by its id, as nextvisit why does', async () => {
    await show({ project: { project: 'shop' }, limit: 1 })
    expect(printed.at(-1)).toContain(second.requestId)
    await expect(show({ project: { project: 'shpo' } })).rejects.toMatchObject({
      exitCode: 2,
      message: `There is no project shpo. Known: ${organization}/quiet, ${organization}/shop.`,
    })
  })

  it.each<readonly [readonly string[], Readonly<Record<string, string>>, number, string]>([
    [['--project', 'shop'], env, 2, 'KAFKA_BROKERS is not set'],
    [['--project', 'acme/'], env, 2, 'organization/project'],
    [['--project', 'Shop'], env, 2, 'organization/project'],
    [['--project', 'acme/shop', '--limit', '0'], env, 2, 'from 1 to 9999'],
    [['--project', 'acme/shop', '--user', ' '], env, 2, '--user: userName must be'],
    [['--project', 'acme/shop'], {}, 2, 'REDIS_URL'],
    [['--project', 'acme/shop'], { REDIS_URL: 'redis://127.0.0.1:1' }, 1, 'does not answer: see REDIS_URL'],
  ])('%j with %j ends with %d and states the correction', async (args, given, exitCode, message) => {
    const ended = await runNextvisit(['refusals', ...args], { NEXTVISIT_DATA: '/nowhere', ...given })
    expect(ended).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(message) })
  })

  it('follows until its reader closes the pipe, and exits with 0', async () => {
    const args = ['refusals', '--project', `${organization}/unread`, '--follow']
    await add('unread', refusalOf('ada'))
    const child = spawn(process.execPath, [MAIN, ...args], { env: { ...env, NEXTVISIT_DATA: '/nowhere' } })
    child.stdout.destroy()
    try {
      expect(await once(child, 'exit')).toEqual([0, null])
    } finally {
      child.kill('SIGKILL')
    }
  })

  it('follows until Ctrl-C, each refusal once, and exits with 0', async () => {
    const args = ['refusals', '--project', `${organization}/followed`, '--json', '--follow']
    const early = refusalOf('ada')
    await add('followed', early)
    const child = spawn(process.execPath, [MAIN, ...args], { env: { ...env, NEXTVISIT_DATA: '/nowhere' } })
    const lines: KeptRefusal[] = []
    let rest = ''
    child.stdout.on('data', (chunk: Buffer) => {
      const parts = `${rest}${chunk.toString()}`.split('\n')
      rest = parts.pop() ?? ''
      lines.push(...parts.map((line) => JSON.parse(line) as KeptRefusal))
    })
    const printedLines = (count: number) => vi.waitUntil(() => lines.length >= count, { timeout: 50_000 })
    try {
      await printedLines(1)
      const late = refusalOf('bob')
      await add('followed', late)
      await printedLines(2)
      // Like that of a gateway whose clock is behind.
      const [latest, older] = [refusalOf('cyd'), { ...refusalOf('dan'), id: '00000000-0000-7000-8000-000000000001' }]
      await add('followed', latest, older)
      await printedLines(4)
      child.kill('SIGINT')
      expect(await once(child, 'exit')).toEqual([0, null])
      expect(lines).toEqual([early, late, older, latest])
    } finally {
      child.kill('SIGKILL')
    }
  })
})
