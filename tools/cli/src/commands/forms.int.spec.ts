import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DryRunLine, encodeRecord, ErrorLine, FormFact, type UserFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, userIdFixture, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import { createPublisher, type LogConnection, partitionForKey, readWatermarks, withLogAdmin } from '@nextvisit/log'
import { createDataKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { createTestTopic, PATIENT_REQUESTS } from '@nextvisit/testing'
import { keyRecordOf, sealWith } from '@nextvisit/user-keys'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { givenSealedLog, SECRET_ENV } from '../../test/given-sealed-log.ts'
import type { Topics } from '../forms-dry-run/read-past.ts'
import { applyWorkspace } from '../workspace/apply-workspace.ts'
import { parseWorkspaceFile } from '../workspace/parse-workspace-file.ts'
import { dryRunForms } from './forms.ts'

const DAY = 24 * 3_600_000
const NOW = Date.parse('2026-11-20T12:00:00.000Z')
const FROM = NOW - 7 * DAY
const PARTITIONS = 3
const at = (ms: number) => new Date(FROM + ms).toISOString()
const HOUR = 3_600_000

/** The applied workspace, and the file: a lower threshold, an additional audience, a removed form, an added form. */
const TODAY = `
organizations:
  - id: acme
    projects:
      - id: shop
        forms:
          - { id: nps, triggers: [{ event: checkout, count: 2 }] }
          - { id: old, triggers: [{ event: checkout }] }
`
const FILE = `
organizations:
  - id: acme
    projects:
      - id: shop
        forms:
          - { id: nps, triggers: [{ event: checkout }], audience: { trait: plan, is: pro } }
          - { id: hello, triggers: [{ visit: {} }], frequency: { repeat: { every: 1d } } }
      - id: other
        forms: [{ id: nps, triggers: [{ event: checkout }] }]
`

const ada = { userName: 'ada', userId: userIdFixture('ada') }
const bob = { userName: 'bob', userId: userIdFixture('bob') }
const cyd = { userName: 'cyd', userId: userIdFixture('cyd') }
const checkout = (who: typeof ada, ms: number, special: Parameters<typeof eventTracked>[0] = {}) =>
  eventTracked({ ...who, eventName: 'checkout', received: at(ms), ...special })

const keyed = checkout(cyd, 5 * HOUR, { keyed: true })
/** Visits whose gateway asked for no form. */
const visits = [3, 40, 45].map((hours) => visit({ ...ada, received: at(hours * HOUR) }))
/** Records before the period, which are folded; in it, which are evaluated; and after it, which are ignored. */
const FACTS: readonly UserFact[] = [
  identifyRequested({ ...ada, received: at(-3 * DAY), operations: { set: { plan: 'pro', other: 'x' } } }),
  identifyRequested({ ...bob, received: at(-3 * DAY), operations: { set: { plan: 'free' } } }),
  identifyRequested({ ...cyd, received: at(-3 * DAY), operations: { set: { plan: 'pro' } } }),
  checkout(bob, -2 * DAY),
  checkout(ada, 1 * HOUR),
  checkout(bob, 1 * HOUR),
  checkout(bob, 2 * HOUR),
  checkout(ada, 2 * HOUR),
  ...visits.slice(0, 1),
  // Confirms the evaluator's own offer, which a dry run replaces by its own.
  visitAnswered({
    visitId: visits[0]?.id ?? '',
    queuedId: visits[0]?.id ?? '',
    formId: 'old',
    received: at(3 * HOUR),
    userId: ada.userId,
  }),
  checkout(ada, 4 * HOUR),
  checkout(ada, 4 * HOUR, { evaluateTriggers: false, occurredAt: at(0) }),
  keyed,
  keyed,
  ...visits.slice(1),
  checkout(ada, 8 * DAY),
]

/** Cyd was shown `nps` a month ago, and `old` still waits for bob. */
const FORM_FACTS: readonly FormFact[] = [
  formFact('FormQueued', cyd, 'nps', -30 * DAY),
  formFact('FormDelivered', cyd, 'nps', -29 * DAY),
  formFact('FormQueued', cyd, 'nps', -30 * DAY),
  formFact('FormQueued', bob, 'old', -2 * DAY),
  formFact('FormDelivered', bob, 'old', 6 * HOUR),
]

function formFact(type: 'FormQueued' | 'FormDelivered', { userId }: typeof ada, formId: string, ms: number): FormFact {
  const row = userIdFixture(`${userId}/${formId}`)
  const common = { id: userIdFixture(`${type}/${row}`), organization: 'acme', project: 'shop', userId, queuedId: row }
  return FormFact.parse({
    type,
    ...common,
    formId,
    at: at(ms),
    environment: 'P',
    causeId: row,
    visitId: row,
    priority: 0,
    showFrom: at(ms),
    catalogRevision: 1,
  })
}

const keyRing = givenKeyRing(SECRET_ENV.NEXTVISIT_SECRET_KEY)
const connection: LogConnection = { brokers: inject('kafkaBrokers').split(','), clientId: 'cli-spec' }
let folder: string
let topics: Topics
let printed: string[]

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  topics = {
    userEvents: await topicOf(PARTITIONS),
    formEvents: await topicOf(PARTITIONS),
    userKeys: await topicOf(PARTITIONS),
    erasures: await topicOf(1),
    catalog: await topicOf(1),
  }
  const parsed = parseWorkspaceFile(TODAY, {})
  if (parsed.outcome !== 'ok') throw new Error('The workspace is invalid')
  await applyWorkspace({
    connection,
    organizations: parsed.organizations,
    contents: [],
    appliedBy: 'spec',
    topic: topics.catalog,
  })
  await publish(topics.userEvents, FACTS)
  await publish(topics.formEvents, FORM_FACTS)
})
afterAll(() => rm(folder, { recursive: true }))

beforeEach(() => {
  printed = []
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line ?? ''))
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  vi.stubEnv('KAFKA_BROKERS', inject('kafkaBrokers'))
  vi.stubEnv('NEXTVISIT_SECRET_KEY', SECRET_ENV.NEXTVISIT_SECRET_KEY)
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

async function publish(topic: string, facts: readonly (UserFact | FormFact)[]): Promise<void> {
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  const keys = new Map<string, ReturnType<typeof createDataKey>>()
  for (const fact of facts) {
    const partition = partitionForKey(fact.userId, PARTITIONS)
    const known = keys.get(fact.userId)
    const { key, wrapped } = known ?? createDataKey(keyRing, fact.userId, FROM)
    keys.set(fact.userId, { key, wrapped })
    if (!known) await publisher.publish(keyRecordOf(wrapped, partition, topics.userKeys), performance.now() + 10_000)
    const record = encodeRecord(fact, { source: 'spec', time: at(0), seal: sealWith(key) })
    await publisher.publish({ topic, partition, key: fact.userId, ...record }, performance.now() + 10_000)
  }
  await publisher.stop(5_000)
}

async function fileOf(text: string): Promise<string> {
  const file = path.join(folder, 'workspace.yaml')
  await writeFile(file, text)
  return file
}

async function topicOf(partitions: number): Promise<string> {
  return (await createTestTopic(inject('kafkaBrokers'), { partitions })).topic
}

/** Reads traces that a dry run must not leave: the ends of the topics, and groups with committed offsets. */
async function readTraces() {
  const committed = await withLogAdmin(connection, async (admin) =>
    Promise.all(
      (await admin.listGroups('')).map(async (group) =>
        (await admin.groupOffsets(group, topics.userEvents)).size > 0 ? [group] : [],
      ),
    ),
  )
  const ends = await Promise.all(Object.values(topics).map((topic) => readWatermarks(connection, topic)))
  return { ends, committed: committed.flat() }
}

describe('nextvisit forms dry-run', () => {
  it('shows for each form how many users it would have been queued for, and which gates refused it for others', async () => {
    await dryRunForms(await fileOf(FILE), { from: FROM, to: NOW }, topics)
    expect(printed).toEqual([
      `Read ${FACTS.length + FORM_FACTS.length} records of 3 users from user-events and form-events. Evaluated the records received from ${at(0)} to ${at(7 * DAY)}.`,
      '',
      'acme/shop',
      'FORM   USERS  TODAY  QUEUED  TODAY  DELIVERED  TODAY  EVALUATED  MOSTLY REFUSED AS',
      'nps        1      2       1      2          1      1          6  repeat-exhausted 3, not-in-audience 2',
      'hello      1  -           1  -              1  -              3  already-waiting 1, too-soon 1',
      'old    -          2  -           2  -              1  -          removed',
      '',
      'acme/other',
      'FORM  USERS  TODAY  QUEUED  TODAY  DELIVERED  TODAY  EVALUATED  MOSTLY REFUSED AS',
      'nps       0  -           0  -              0  -              0',
      '',
      'Nothing was changed: this was a dry run.',
    ])
  })

  it('leaves no trace in the log: no record, no group, no offset', async () => {
    const before = await readTraces()
    await dryRunForms(await fileOf(FILE), { from: FROM, to: NOW }, topics)
    expect(await readTraces()).toEqual(before)
    expect(before.committed).toEqual([])
  })

  it('prints the same as JSON, for one project', async () => {
    await dryRunForms(
      await fileOf(FILE),
      { from: FROM, to: NOW, project: { organization: 'acme', project: 'shop' }, json: true },
      topics,
    )
    expect(JSON.parse(printed.join(''))).toMatchObject({
      from: at(0),
      to: at(7 * DAY),
      records: FACTS.length + FORM_FACTS.length,
      unreadable: 0,
      since: null,
      users: 3,
      projects: [
        {
          organization: 'acme',
          project: 'shop',
          forms: [
            {
              form: 'nps',
              proposed: {
                users: 1,
                queued: 1,
                delivered: 1,
                evaluated: 6,
                refused: [
                  { reason: 'repeat-exhausted', times: 3 },
                  { reason: 'not-in-audience', times: 2 },
                ],
              },
              today: { users: 2 },
            },
            { form: 'hello', today: null },
            { form: 'old', proposed: null },
          ],
        },
      ],
    })
  })

  it('prints progress and the same outcome as JSON lines', async () => {
    const flags = { from: FROM, to: NOW }
    await dryRunForms(await fileOf(FILE), { ...flags, json: true }, topics)
    const outcome: unknown = JSON.parse(printed.join(''))
    printed = []
    await dryRunForms(await fileOf(FILE), { ...flags, jsonLines: true }, topics)
    const lines = printed.map((line) => DryRunLine.parse(JSON.parse(line)))
    expect(lines.at(-1)).toEqual({ type: 'outcome', ...(outcome as object) })
    expect(lines[0]).toMatchObject({ type: 'progress', share: expect.any(Number) })
    expect(new Set(lines.slice(0, -1).map(({ type }) => type))).toEqual(new Set(['progress']))
  })

  it('reads only the newest records with --max-records, and prints the start of the complete part', async () => {
    await dryRunForms(await fileOf(FILE), { from: FROM, to: NOW, maxRecords: PARTITIONS, jsonLines: true }, topics)
    const outcome = DryRunLine.parse(JSON.parse(printed.at(-1) ?? ''))
    // One record of each partition that has records.
    expect(outcome).toMatchObject({ type: 'outcome', since: expect.stringMatching(/^2.*Z$/) })
    expect(outcome.type === 'outcome' && outcome.records).toBeLessThanOrEqual(2 * PARTITIONS)
    printed = []
    await dryRunForms(await fileOf(FILE), { from: FROM, to: NOW, maxRecords: PARTITIONS }, topics)
    expect(printed[1]).toContain('All records were read only since 2')
  })

  it('needs NEXTVISIT_SECRET_KEY, because the records are sealed', async () => {
    vi.stubEnv('NEXTVISIT_SECRET_KEY', '')
    const run = dryRunForms(await fileOf(FILE), { from: FROM, to: NOW }, topics)
    await expect(run).rejects.toThrow(/NEXTVISIT_SECRET_KEY is not set/)
  })

  it('counts no erased user, whatever keys there are, until the person returns', async () => {
    const log = await givenSealedLog()
    const ofUser = { ...log.topics, catalog: topics.catalog }
    const [identified, tracked] = [FACTS[0], checkout(ada, 1 * HOUR)]
    const counted = async () => {
      printed = []
      await dryRunForms(await fileOf(FILE), { from: FROM, to: NOW, json: true }, ofUser)
      const { users, unreadable, projects } = JSON.parse(printed.join('\n'))
      return [users, unreadable, projects[0].forms[0].proposed.users]
    }
    for (const fact of [identified, tracked]) if (fact) await log.record(fact)
    expect(await counted()).toEqual([1, 0, 1])
    await log.publish(log.topics.userEvents, { key: ada.userId, value: 'poison' })
    const destroyed = await log.erase(tracked)
    expect(await counted()).toEqual([0, 0, 0])
    await log.publishKey(destroyed)
    expect(await counted()).toEqual([0, 0, 0])
    await log.record(checkout(ada, 2 * HOUR))
    expect(await counted()).toEqual([1, 0, 0])
  })

  it('reads no secret that the file names from the environment', async () => {
    vi.stubEnv('SOME_SECRET', 'very-secret')
    const keys = 'keys: [{ name: web, kind: sdk, environment: P, secret: $SOME_SECRET }], signingSecret: $NOT_SET'
    const file = await fileOf(FILE.replace('- id: other', `- id: other\n        ${keys.replace('], ', ']\n        ')}`))
    await dryRunForms(file, { from: FROM, to: NOW, jsonLines: true }, topics)
    expect(JSON.parse(printed.at(-1) ?? '')).toMatchObject({ type: 'outcome' })
    expect(printed.join('')).not.toContain('SECRET')
  })

  it('folds records before the period, but does not evaluate them', async () => {
    await dryRunForms(await fileOf(FILE), { from: FROM + 3.5 * HOUR, to: FROM + 4.5 * HOUR }, topics)
    expect(printed[4]).toMatch(/^nps +1 +1 +1 +1 +0 +0 +1$/)
  })

  it('names each error of an invalid file with its line, and a project that is not in the file', async () => {
    const complaints = vi.spyOn(console, 'error').mockReturnValue()
    const invalid = await fileOf('organizations:\n  - id: acme\n    projects: [{ id: shop, formz: [] }]\n')
    await expect(dryRunForms(invalid, { from: FROM, to: NOW }, topics)).rejects.toMatchObject({ exitCode: 2 })
    expect(complaints.mock.calls[0]?.[0]).toContain('workspace.yaml:3: ')
    await expect(dryRunForms(invalid, { from: FROM, to: NOW, jsonLines: true }, topics)).rejects.toThrow('one fault')
    expect(ErrorLine.parse(JSON.parse(printed.at(-1) ?? ''))).toMatchObject({
      code: 'INVALID_WORKSPACE',
      faults: [
        { line: 3, path: 'organizations[0].projects[0].formz', message: 'is not a known member: did you mean forms?' },
      ],
    })
    const unknown = dryRunForms(
      await fileOf(FILE),
      { from: FROM, to: NOW, project: { organization: 'acme', project: 'shep' } },
      topics,
    )
    await expect(unknown).rejects.toMatchObject({
      exitCode: 2,
      message: 'The file has acme/shop, acme/other, but not acme/shep.',
    })
    await expect(dryRunForms(await fileOf(FILE), { from: NOW, to: FROM }, topics)).rejects.toMatchObject({
      exitCode: 2,
    })
  })
})
