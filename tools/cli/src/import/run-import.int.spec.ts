import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DEFAULT_ALLOWED_FIELDS, ProjectConfig, TOPICS } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { createPublisher, type LogConnection, type Publisher, withLogAdmin } from '@nextvisit/log'
import { testKeyOf } from '@nextvisit/testing'
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import type { ImportKeys } from './import-keys.ts'
import type { LineFormat } from './line-format.ts'
import { readImportedIds } from './publish-facts.ts'
import { rejectsFileOf } from './rejects.ts'
import { type ImportCounts, runImport } from './run-import.ts'

const connection: LogConnection = { brokers: inject('kafkaBrokers').split(','), clientId: 'cli-spec' }
/** Returns a key for every user. No user is erased. */
const KEYS: ImportKeys = {
  keysFor: async (facts) => ({
    keys: new Map(facts.map(({ userId }) => [userId, testKeyOf(userId).key])),
    erased: new Set(),
  }),
}
/** A line that is refused, so nothing is published. */
const LINE = '{"type":"identify"}\n'

let folder: string
let file: string
beforeAll(() => withLogAdmin(connection, (admin) => admin.createTopic(TOPICS.userEvents, { partitions: 1 })))
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  file = path.join(folder, 'history.ndjson')
  await writeFile(file, LINE.repeat(3))
})
afterEach(() => rm(folder, { recursive: true }))

function run(isDryRun = false, special: Partial<Parameters<typeof runImport>[0]> = {}): Promise<ImportCounts> {
  return runImport({
    file,
    format: 'nextvisit',
    timeZone: 'UTC',
    policy: {
      organization: 'acme',
      project: 'shop',
      allowedFields: new Set(DEFAULT_ALLOWED_FIELDS),
      disabledTraits: new Set(),
      disabledEvents: new Set(),
      declaredTraits: new Set(),
      declaredEvents: new Set(),
      plan: {},
      config: ProjectConfig.parse({ id: 'shop' }),
    },
    users: { add: () => {}, has: () => false, lookUp: async () => new Set() },
    isSuppressed: () => false,
    keys: isDryRun ? undefined : KEYS,
    log: { connection, publisher: createPublisher(connection), partitions: 1 },
    ends: new Map(),
    pace: async () => {},
    isDryRun,
    onProgress: () => {},
    ...special,
  })
}

const linesOf = async (name: string) => (await readFile(name, 'utf8')).trimEnd().split('\n').length

describe('the rejects of an import', () => {
  it('stay as they are during a dry run, which writes its own file', async () => {
    expect(await run()).toMatchObject({ read: 3, rejected: 3 })
    await writeFile(file, LINE)
    expect(await run(true)).toMatchObject({ read: 1, rejected: 1 })
    expect(await linesOf(rejectsFileOf(file, false))).toBe(3)
    expect(await linesOf(`${file}.dry-run.rejects.ndjson`)).toBe(1)
  })

  it('are counted, but not shown again, by a later run, even after their file was removed', async () => {
    const { examples } = await run()
    expect(examples.map(({ line }) => line)).toEqual([1, 2, 3])
    await rm(rejectsFileOf(file, false))
    expect(await run()).toMatchObject({ read: 3, rejected: 3, examples: [] })
    expect(await readdir(folder)).toEqual(['history.ndjson', 'history.ndjson.import-state.json'])
    await appendFile(file, LINE)
    expect(await run()).toMatchObject({ read: 4, rejected: 4, examples: [{ line: 4 }] })
    expect(await linesOf(rejectsFileOf(file, false))).toBe(1)
  })

  it('are shown by the first five', async () => {
    await writeFile(file, LINE.repeat(1_200))
    const { rejected, examples } = await run()
    expect(rejected).toBe(1_200)
    expect(examples.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5])
  })
})

const lineOf = (userName: string) => `${JSON.stringify({ type: 'identify', userName })}\n`
const idOf = (userName: string) => userIdOf('acme', 'shop', userName)

it('an import rejects the lines of suppressed users, also of one who is suppressed during the import', async () => {
  await writeFile(file, ['ada', 'bob', 'eve'].map(lineOf).join(''))
  const suppressed = new Set([idOf('ada')])
  const known = new Set<string>()
  const users = {
    add: (id: string) => void known.add(id),
    has: (id: string) => known.has(id),
    lookUp: async () => known,
  }
  const counts = await run(true, { users, isSuppressed: (userId) => suppressed.has(userId) })
  const error = 'User is suppressed: the user was erased, and must not return'
  expect(counts).toMatchObject({ read: 3, published: 2, rejected: 1, examples: [{ line: 1, error }] })

  const pace = async () => void suppressed.add(idOf('bob'))
  const publisher = createPublisher(connection)
  await publisher.start()
  const log = { connection, publisher, partitions: 1 }
  const real = await run(false, { users, isSuppressed: (userId) => suppressed.has(userId), pace, log })
  await publisher.stop(1_000)
  expect(real).toMatchObject({ published: 1, rejected: 2, examples: [{ line: 1 }, { line: 2, error }] })
})

/** Returns a line of an export of Amplitude. */
function event(user_id: string, day: number, members: object = {}): string {
  const line = { event_type: 'Paid', event_time: `2021-01-0${day} 00:00:00`, user_id, uuid: `${user_id} ${day}` }
  return `${JSON.stringify({ ...line, ...members })}\n`
}

describe("an import of another product's export", () => {
  let publisher: Publisher
  let known: Set<string>

  beforeEach(async () => {
    known = new Set()
    publisher = createPublisher(connection)
    await publisher.start()
  })
  afterEach(() => publisher.stop(1_000))

  /** Runs an import from the end of the log. Returns its counts, and the number of records that it has added. */
  async function runExport(format: LineFormat = 'amplitude') {
    const before = (await readImportedIds(connection, new Map([[0, 0n]]))).size
    const marks = await withLogAdmin(connection, (admin) => admin.watermarks(TOPICS.userEvents))
    const counts = await run(false, {
      format,
      users: { add: (id) => void known.add(id), has: (id) => known.has(id), lookUp: async () => new Set() },
      log: { connection, publisher, partitions: 1 },
      ends: new Map([...marks].map(([partition, { high }]) => [partition, high])),
    })
    return { ...counts, added: (await readImportedIds(connection, new Map([[0, 0n]]))).size - before }
  }

  it('identifies each user before the first event, and again only users of appended lines', async () => {
    await writeFile(file, `${event('ada', 2)}${event('ada', 1)}${event('bob', 1)}`)
    // Two identifies of ada, as of her last and her first line, and one of bob.
    expect(await runExport()).toMatchObject({ read: 3, published: 6, rejected: 0, added: 6 })
    expect(await runExport()).toMatchObject({ read: 3, published: 0, alreadyThere: 6, added: 0 })
    await appendFile(file, event('eve', 1))
    known.clear()
    expect(await runExport()).toMatchObject({ read: 4, published: 2, alreadyThere: 6, added: 2 })
  })

  it('adds nothing if its state file is lost', async () => {
    await writeFile(
      file,
      `${event('cy', 1)}${event('cy', 1, { uuid: undefined })}${event('cy', 2, { uuid: undefined })}`,
    )
    expect(await runExport()).toMatchObject({ published: 5, added: 5 })
    await rm(`${file}.import-state.json`)
    expect(await runExport()).toMatchObject({ published: 5, added: 0 })
  })

  it('names rejected lines, and counts the lines that it skips by reason', async () => {
    await writeFile(
      file,
      `${event('dan', 1)}{"a":1}\n${event('', 1)}${event('', 1)}${event('dan', 2, { event_type: '$identify' })}`,
    )
    const counts = await runExport()
    expect(counts).toMatchObject({ read: 5, published: 3, rejected: 1, summary: { users: 1, aboutUsers: 1 } })
    expect(counts.examples).toEqual([
      { line: 2, error: expect.stringMatching(/^event_type must be/), original: '{"a":1}' },
    ])
    expect(counts.summary?.skipped).toEqual(new Map([['anonymous', { count: 2, firstLine: 3 }]]))
  })

  it('suggests another format, and refuses to continue with it', async () => {
    await writeFile(file, event('fay', 1))
    const { examples } = await runExport('posthog')
    expect(examples[0]?.error).toContain('an export of Amplitude: try --format amplitude')
    await expect(runExport('amplitude')).rejects.toThrow('was imported with --format posthog')
  })

  it('refuses to continue with another time zone', async () => {
    await runExport()
    const withZone = run(false, { format: 'amplitude', timeZone: 'Europe/Berlin' })
    await expect(withZone).rejects.toThrow('was imported with --time-zone UTC')
  })

  it('adds nothing again for profiles without a time', async () => {
    const profile = { $distinct_id: 'gil', $properties: { plan: 'pro' } }
    await writeFile(file, `${JSON.stringify(profile)}\n`)
    expect(await runExport('mixpanel')).toMatchObject({ published: 1, added: 1 })
    await rm(`${file}.import-state.json`)
    expect(await runExport('mixpanel')).toMatchObject({ published: 1, added: 0 })
  })
})
