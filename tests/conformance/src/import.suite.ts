import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { callCarefully, eventually, readTopic, runPacedLoad, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import { createStackCommands } from './stack-commands.ts'

const CLI = path.resolve(import.meta.dirname, '../../../tools/cli/src/main.ts')
const USERS = 100
const EVENTS = 5_000
const REJECTED = 3
const IMPORTED = USERS + EVENTS
const READ = (IMPORTED + REJECTED).toLocaleString('en')
const IN_LOG = IMPORTED.toLocaleString('en')
const KILLS = 4

let stack: ThrowAwayStack
let folder: string
let file: string

function at(minute: number): string {
  return new Date(Date.UTC(2019, 0, 1) + minute * 60_000).toISOString()
}

/** Creates a history: each user is identified and has events. Some lines are equal; three lines are invalid. */
function history(): string {
  const users = Array.from({ length: USERS }, (_, n) => ({
    type: 'identify',
    userName: `user-${n}`,
    userAttributes: { $set: { plan: 'old' }, $increment: { imports: 1 } },
    occurredAt: at(n),
  }))
  const events = Array.from({ length: EVENTS }, (_, n) => ({
    type: 'track',
    userName: `user-${n % USERS}`,
    eventName: 'Checkout Completed',
    occurredAt: at(n < EVENTS / 2 ? n : n - USERS),
  }))
  const wrong = [
    { type: 'track', userName: 'nobody', eventName: 'x', occurredAt: at(0) },
    { type: 'track', userName: 'user-0', eventName: 'form:x', occurredAt: at(0) },
    { type: 'identify' },
  ]
  const lines = [...users, ...events]
  wrong.forEach((line, n) => lines.splice(500 * (n + 1), 0, line as (typeof lines)[number]))
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

const { nextvisit, settle } = createStackCommands(() => stack)

const commandOf = (of: string, options: readonly string[]) => ['import', of, '--project', 'demo/shop', ...options]

/** Runs an import in this process. Resolves to its output and its exit code. */
async function runImport(of = file, ...options: readonly string[]): Promise<string> {
  const { output, exitCode } = await nextvisit(...commandOf(of, options))
  return `${output}${exitCode}`
}

const stateFile = () => `${file}.import-state.json`

async function lastLine(): Promise<number> {
  const text = await readFile(stateFile(), 'utf8').catch(() => '{"lastLine":0}')
  return (JSON.parse(text) as { lastLine: number }).lastLine
}

/** Kills the process of an import at some point after a line: before, during or after publishing a chunk. */
async function killBehind(line: number): Promise<void> {
  const env = { NEXTVISIT_DATA: stack.dataDirectory }
  const child = spawn(process.execPath, [CLI, ...commandOf(file, [])], { env, stdio: 'ignore' })
  const ended = once(child, 'close')
  await eventually(lastLine, (reached) => reached > line || child.exitCode !== null, 60_000, 10)
  await sleep(Math.random() * 60)
  child.kill('SIGKILL')
  expect(await ended).toEqual([null, 'SIGKILL'])
}

async function get(pathname: string): Promise<Record<string, unknown> & { readonly status: number }> {
  const response = await fetch(`${stack.gatewayUrl}${pathname}`, { headers: { 'x-api-key': stack.keys.admin } })
  return { status: response.status, ...((await response.json()) as object) }
}

async function importedIds(): Promise<string[]> {
  const records = await readTopic(stack.brokers, 'user-events')
  return records.flatMap(({ value }) => (value['imported'] === true ? String(value['id']) : []))
}

function checkoutsOf(user: Record<string, unknown>): number {
  const events = user['events'] as Record<string, { count: number } | undefined> | undefined
  return events?.['checkout_completed']?.count ?? 0
}

async function post(route: string, body: Readonly<Record<string, unknown>>): Promise<number | undefined> {
  const { gatewayUrl, keys } = stack
  return (await callCarefully({ gatewayUrl, route, apiKey: keys.admin, body })).status
}

/** Reads with retries, because on an overloaded machine a hundred reads at once may time out. */
const read = (pathname: string) =>
  eventually(
    () => get(pathname),
    ({ status }) => status !== 503,
    30_000,
  )

/** Reads the read models of all users. */
async function readUsers(): Promise<{ users: number; events: number; plans: Set<unknown>; imports: Set<unknown> }> {
  const users = await Promise.all(Array.from({ length: USERS }, (_, n) => read(`/v2/admin/users/user-${n}`)))
  const traits = users.map((user) => (user['traits'] ?? {}) as Record<string, unknown>)
  return {
    users: users.filter(({ status }) => status === 200).length,
    events: users.reduce((sum, user) => sum + checkoutsOf(user), 0),
    plans: new Set(traits.map(({ plan }) => plan)),
    imports: new Set(traits.map(({ imports }) => imports)),
  }
}

const WHOLE = { users: USERS, events: EVENTS, plans: new Set(['old']), imports: new Set([1]) }

/** Tests imports. The demo stack must have no facts yet, because the facts of the import are counted. */
export function describeImport(stackOf: () => ThrowAwayStack): void {
  describe('an import that is killed repeatedly during live traffic', () => {
    beforeAll(async () => {
      stack = stackOf()
      folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
      file = path.join(folder, 'history.ndjson.gz')
      await writeFile(file, gzipSync(history()))
    })
    afterAll(() => rm(folder, { recursive: true }))

    it('imports every line exactly once, and reports it', async ({ annotate }) => {
      expect(await post('/v2/admin/identify-user', { userName: 'live' })).toBe(200)
      const latenciesMs: number[] = []
      const statuses: (number | undefined)[] = []
      const stop = new AbortController()
      // Stops even on failure, because other specs use the stack afterwards.
      onTestFinished(() => stop.abort())
      const live = runPacedLoad(20, stop.signal, async () => {
        const startedAt = performance.now()
        statuses.push(await post('/v2/admin/track-event', { userName: 'live', eventName: 'Pinged' }))
        latenciesMs.push(performance.now() - startedAt)
      })

      for (let kill = 0; kill < KILLS; kill += 1) {
        await killBehind((kill * IMPORTED) / (KILLS + 2))
        if (kill === 0) await copyFile(stateFile(), `${file}.first-state`)
      }
      const last = await runImport()
      stop.abort()
      const sent = await live
      expect(statuses).toEqual(Array<number>(sent).fill(202))
      const [, published, alreadyThere] =
        new RegExp(`${READ} read, ([\\d,]+) published, ([\\d,]+) already there, 3 rejected`).exec(last) ?? []
      expect(last).toMatch(/1$/)
      expect([published, alreadyThere].reduce((sum, text = '') => sum + Number(text.replace(',', '')), 0)).toBe(
        IMPORTED,
      )

      const ids = await importedIds()
      expect(ids).toHaveLength(IMPORTED)
      expect(new Set(ids).size).toBe(IMPORTED)
      expect(await eventually(readUsers, ({ events }) => events >= EVENTS, 30_000)).toEqual(WHOLE)
      const rejects = (await readFile(`${file}.rejects.ndjson`, 'utf8')).trim().split('\n')
      expect(rejects.map((line) => (JSON.parse(line) as { line: number }).line)).toEqual([501, 1_001, 1_501])
      expect(rejects).toHaveLength(REJECTED)

      // Only live users and events count as active and metered.
      const usage = { events: { count: sent }, monthlyActiveUsers: { count: 1 } }
      expect(await read('/v2/admin/usage')).toMatchObject(usage)
      const sorted = latenciesMs.toSorted((one, other) => one - other)
      await annotate(
        `${sent} live events beside it: median ${sorted[Math.floor(sent / 2)]?.toFixed(0)} ms, most ${sorted.at(-1)?.toFixed(0)} ms`,
      )
    }, 400_000)

    it('finds lines in the log that are missing in its state file', async () => {
      await copyFile(`${file}.first-state`, stateFile())
      expect(await runImport()).toContain(`${READ} read, 0 published, ${IN_LOG} already there, 3 rejected`)
      expect(await importedIds()).toHaveLength(IMPORTED)
    })

    it('changes nothing if the same file is imported again without a state file', async () => {
      await rm(stateFile())
      expect(await runImport()).toContain(`${READ} read, ${IN_LOG} published, 0 already there, 3 rejected`)
      await settle()
      expect(await readUsers()).toEqual(WHOLE)
    })

    it('refuses another file under the same name', async () => {
      await writeFile(file, gzipSync(history().replace('2019', '2020')))
      expect(await runImport()).toMatch(/is not the file whose import was started[^]*2$/)
    })
  })

  describe("an import of another product's export", () => {
    beforeAll(async () => {
      stack = stackOf()
      folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
    })
    afterAll(() => rm(folder, { recursive: true }))

    const people = { email: 'maria@example.com', plan: 'pro' }
    const exported = {
      amplitude: [
        amplitude('2021-05-01 10:00:00.000000', { uuid: 'a-1', user_properties: { plan: 'free' } }),
        amplitude('2021-05-02 10:00:00.000000', { uuid: 'a-2', user_properties: people }),
        amplitude('2021-05-02 10:00:00.000000', { uuid: 'a-2', user_properties: people }),
        amplitude('2021-05-03 10:00:00.000000', { uuid: 'a-3', event_type: '[Amplitude] Page Viewed' }),
        amplitude('2021-05-03 10:00:00.000000', { uuid: 'a-4', user_id: null }),
        amplitude('2021-05-03 10:00:00.000000', { uuid: 'a-5', event_type: 'x'.repeat(101) }),
      ],
      segment: [
        {
          type: 'track',
          userId: 'maria',
          event: 'Checkout Completed',
          timestamp: '2021-06-01T10:00:00Z',
          messageId: 's-1',
        },
        {
          type: 'identify',
          userId: 'maria',
          traits: { plan: 'free', city: 'Rome' },
          timestamp: '2021-06-02T10:00:00Z',
        },
      ],
    }

    it('creates users with their newest traits before their events, and names each rejected line', async () => {
      const exportFile = path.join(folder, 'amplitude.json.gz')
      await writeFile(exportFile, gzipSync(exported.amplitude.map((line) => JSON.stringify(line)).join('\n   \n')))
      const output = await runImport(exportFile, '--format', 'amplitude')
      expect(output).toContain('6 read, 4 published, 1 already there, 1 rejected')
      expect(output).toContain('users in the file: 1; lines that tell only about a user: 1')
      expect(output).toContain('skipped: 1 (first: line 9) events of anonymous users')
      expect(output).toMatch(/line 11: event_type must be [^]*1$/)
      await settle()
      const user = await read('/v2/admin/users/maria')
      expect(user).toMatchObject({ traits: people, firstSeenAt: '2021-05-01T10:00:00.000Z' })
      expect(checkoutsOf(user)).toBe(2)
    })

    it('reads a JSON array, and overwrites no trait of an earlier import', async () => {
      const exportFile = path.join(folder, 'segment.json')
      await writeFile(exportFile, JSON.stringify(exported.segment, null, 2))
      expect(await runImport(exportFile, '--format', 'segment')).toMatch(/2 read, 3 published[^]*0$/)
      await settle()
      const user = await read('/v2/admin/users/maria')
      expect(user).toMatchObject({ traits: { ...people, city: 'Rome' } })
      expect(checkoutsOf(user)).toBe(3)
    })

    it('changes nothing if the same file is imported again', async () => {
      const before = await read('/v2/admin/users/maria')
      const exportFile = path.join(folder, 'again.json')
      await writeFile(exportFile, JSON.stringify(exported.segment))
      expect(await runImport(exportFile, '--format', 'segment')).toMatch(/2 read, 3 published[^]*0$/)
      await settle()
      expect(await read('/v2/admin/users/maria')).toEqual(before)
    })

    it('suggests the format if it is missing', async () => {
      const exportFile = path.join(folder, 'guess.json')
      await writeFile(exportFile, exported.segment.map((line) => JSON.stringify(line)).join('\n'))
      expect(await runImport(exportFile)).toMatch(
        /"userId": did you mean userName\?; [^]*looks like an export of Segment: try --format segment[^]*1$/,
      )
    })
  })
}

function amplitude(event_time: string, members: object): object {
  const event = { event_type: 'Checkout Completed', user_id: 'maria', device_id: 'd', event_properties: { total: 20 } }
  return { ...event, event_time, ...members }
}
