import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DEFAULT_ALLOWED_FIELDS, ProjectConfig, TOPICS } from '@nextvisit/contracts'
import { createPublisher, type LogConnection, withLogAdmin } from '@nextvisit/log'
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { rejectsFileOf } from './rejects.ts'
import { type ImportCounts, runImport } from './run-import.ts'

const connection: LogConnection = { brokers: inject('kafkaBrokers').split(','), clientId: 'cli-spec' }
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

function run(isDryRun = false): Promise<ImportCounts> {
  return runImport({
    file,
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
    log: { connection, publisher: createPublisher(connection), partitions: 1 },
    ends: new Map(),
    awaitConsumers: async () => {},
    isDryRun,
    onProgress: () => {},
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
