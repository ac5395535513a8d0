import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { Client } from 'pg'
import { consumers } from '@nextvisit/services'
import { compiledCode } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  callCarefully,
  eventually,
  fillLog,
  runPacedLoad,
  startThrowAwayStack,
  type ThrowAwayStack,
} from '@nextvisit/testing/black-box'
import { describeImport } from './import.suite.ts'
import { describeLogScan } from './log-scan.suite.ts'
import { createStackCommands } from './stack-commands.ts'

const CLI = path.resolve(import.meta.dirname, '../../../tools/cli/src/main.ts')
const DEMO = path.resolve(import.meta.dirname, '../../../infra/demo-workspace.yaml')
const OF_MARIA = ['--project', 'demo/shop', '--user', 'maria']
const NAMES = consumers.map(({ name }) => name)
const NO_LAG = NAMES.map(() => 0)
const EQUAL = expect.stringContaining('Rebuilt and live rows are equal.')
const SWAPPED_EQUAL = expect.stringContaining('Rebuilt and live rows are equal. Swapped; folds waited')
const RECORDS = 8_000
const PER_SECOND = 10
/** The command takes CPU time from the consumers that it waits for. */
const ASK_STATUS_EVERY_MS = 300

let stack: ThrowAwayStack

beforeAll(async () => {
  vi.stubEnv('LOG_LEVEL', 'debug')
  stack = await startThrowAwayStack({ isCheap: true })
}, 180_000)
afterAll(async () => {
  vi.unstubAllEnvs()
  await stack?.remove()
}, 60_000)

const { nextvisit, startNextvisit, listChanges } = createStackCommands(() => stack)

/** Starts a replay, and kills it while it folds. */
async function killReplay(consumer: string): Promise<void> {
  const env = { ...compiledCode(), NEXTVISIT_DATA: stack.dataDirectory }
  const child = spawn(process.execPath, [CLI, 'replay', consumer], { env, stdio: 'ignore' })
  const ended = once(child, 'exit')
  await eventually(foldedByReplay, (records) => records > 0, 60_000, 10)
  child.kill('SIGKILL')
  await ended
}

interface Consumer {
  readonly service: string
  readonly lagRecords: number
}

async function lags(): Promise<readonly number[]> {
  const { stdout } = await nextvisit('status', '--json')
  return (JSON.parse(stdout) as { consumers: readonly Consumer[] }).consumers.map(({ lagRecords }) => lagRecords)
}

const isLevel = (behind: readonly number[]) => behind.every((records) => records === 0)

/** Counts rows, for example of the queue, which the replay swaps. */
async function countRows(variable: string, table: string): Promise<number> {
  const client = new Client({ connectionString: stack.databaseUrls.get(variable) })
  await client.connect()
  try {
    const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table} AS counted`)
    return rows[0]?.count ?? 0
  } finally {
    await client.end()
  }
}

/** Reads the progress of metering's rebuild. */
async function foldedByReplay(): Promise<number> {
  return countRows('METERING_DATABASE_URL', '(SELECT FROM metering_replay.checkpoints WHERE next_offset > 0)').catch(
    () => 0,
  )
}

async function track(userName: string): Promise<number | undefined> {
  const body = { userName, eventName: 'Checkout Completed' }
  const { gatewayUrl, keys } = stack
  return (await callCarefully({ gatewayUrl, route: '/v2/admin/track-event', apiKey: keys.admin, body })).status
}

describeImport(() => stack)

// It also rebuilds imported records.
describe('nextvisit replay', () => {
  it('rebuilds every consumer under load, even after a kill, and loses and doubles nothing', async () => {
    const [{ id: organization, projects }] = stack.organizations as [(typeof stack.organizations)[number]]
    await fillLog(stack.brokers, {
      projects: [{ organization, project: projects[0]?.id ?? '' }],
      facts: RECORDS,
      users: 499,
      secretKey: stack.secretKey,
    })
    expect(await eventually(lags, isLevel, 120_000, ASK_STATUS_EVERY_MS)).toEqual(NO_LAG)
    const queued = await countRows('FORM_TRIGGER_EVALUATOR_DATABASE_URL', 'forms.queue')
    expect(queued).toBeGreaterThan(0)

    const stop = new AbortController()
    const statuses: (number | undefined)[] = []
    const load = runPacedLoad(PER_SECOND, stop.signal, async (n) => {
      statuses.push(await track(`filled-${n % 100}`))
    })
    await killReplay('metering')
    const resumed = await startNextvisit('replay', 'metering')
    expect(resumed).toMatchObject({ exitCode: 0, output: SWAPPED_EQUAL })
    expect(resumed.output).toContain('Resuming the interrupted replay')
    for (const service of NAMES.filter((name) => name !== 'metering')) {
      expect(await nextvisit('replay', service)).toMatchObject({ exitCode: 0, output: SWAPPED_EQUAL })
    }
    stop.abort()
    await load
    expect(statuses.filter((status) => status !== 202)).toEqual([])

    expect(await eventually(lags, isLevel, 60_000, ASK_STATUS_EVERY_MS)).toEqual(NO_LAG)
    expect(await countRows('FORM_TRIGGER_EVALUATOR_DATABASE_URL', 'forms.queue')).toBeGreaterThanOrEqual(queued)
    // The audit shares no code with the consumers, and recomputes the rows of all of them.
    expect(await startNextvisit('audit')).toMatchObject({ exitCode: 0 })
    const again = await nextvisit('replay', 'form-trigger-evaluator', '--dry-run')
    expect(again).toMatchObject({ exitCode: 0, output: EQUAL })

    const recorded = await listChanges('--kind', 'consumer.replay')
    // The end of the killed replay was never written.
    const others = NAMES.filter((name) => name !== 'metering').map((name) => `${name} made swapped`)
    expect(recorded.map(({ target, outcome, details }) => `${target} ${outcome} ${details['end']}`)).toEqual([
      'form-trigger-evaluator made compared',
      ...others.toReversed(),
      'metering made swapped',
      'metering begun undefined',
    ])
  }, 400_000)
})

// Specs run most commands in their own process, where an open connection keeps none alive.
describe('a command in a process of its own', { timeout: 60_000 }, () => {
  it.each([
    [['status']],
    [['why', ...OF_MARIA]],
    [['apply', DEMO, '--dry-run']],
    [['forms', 'dry-run', DEMO, '--from', '1d']],
    [['users', 'export', ...OF_MARIA]],
    [['answers', 'export', '--project', 'demo/shop', '--form', 'nps-after-checkout']],
    [['export', '--topic', 'form-events', '--out', '-']],
  ])('ends once it is done: %j', async (args) => {
    expect(await startNextvisit(...args)).toMatchObject({ exitCode: 0 })
  })
})

// It kills all processes, and also reads the logs of the specs above.
describeLogScan(() => stack)
