import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CatalogTopicError,
  type Change,
  changeLine,
  createCatalogView,
  type LiveCatalogView,
  problemLine,
  readCatalogHistory,
  readCatalog,
  readCatalogRecord,
} from '@nextvisit/catalog'
import { createApiKey, createWebhookSecret, hashApiKey } from '@nextvisit/domain'
import {
  readLog,
  createPublisher,
  createGroupReader,
  type LogConnection,
  type Logger,
  readWatermarks,
  withLogAdmin,
} from '@nextvisit/log'
import { publishCompressed } from '@nextvisit/log/test/publish-compressed.ts'
import { sealedWith } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { until, PATIENT_REQUESTS } from '@nextvisit/testing'
import { afterEach, beforeEach, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { applyWorkspace, type ApplyOptions } from './apply-workspace.ts'
import { awaitViews } from './await-views.ts'
import { parseWorkspaceFile } from './parse-workspace-file.ts'

const SECRET_KEY = 'ab'.repeat(32)
const NEW_SECRET_KEY = 'cd'.repeat(32)
const [OLD_ID, NEW_ID] = [SECRET_KEY, NEW_SECRET_KEY].map((key) => givenKeyRing(key).newestKeyId) as [string, string]
const ADMIN_KEY = createApiKey('admin', 'P', new Uint8Array(32).fill(3))
const ENV = { ADMIN_KEY, SIGNING_SECRET: 'a signing secret', NEXTVISIT_SECRET_KEY: SECRET_KEY }
const connection: LogConnection = { brokers: inject('kafkaBrokers').split(','), clientId: 'catalog-spec' }

let topic: string
let complaints: string[]
const views: LiveCatalogView[] = []

beforeEach(async () => {
  topic = `test-catalog-${randomUUID().slice(0, 8)}`
  complaints = []
  await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions: 1 }))
})

afterEach(async () => {
  await Promise.all(views.splice(0).map((view) => view.stop()))
})

function file(...organizations: string[]): string {
  return `organizations:\n${organizations.map((organization) => `  - ${organization}\n`).join('')}`
}

function acme(members = '', keys = ''): string {
  return `{ id: acme, ${members} projects: [{ id: shop, signingSecret: $SIGNING_SECRET, keys: [${keys}] }] }`
}

const BACKEND = '{ name: backend, kind: admin, environment: P, secret: $ADMIN_KEY }'

/** Applies a file with these keys in NEXTVISIT_SECRET_KEY, newest first. */
async function applyWith(keys: readonly string[], text: string, special: Partial<ApplyOptions> = {}, env: object = {}) {
  const parsed = parseWorkspaceFile(text, { ...ENV, ...env, NEXTVISIT_SECRET_KEY: keys.join() })
  if (parsed.outcome === 'invalid') throw new Error(JSON.stringify(parsed.faults))
  const { organizations, contents } = parsed
  return applyWorkspace({
    connection,
    topic,
    organizations,
    contents,
    appliedBy: 'spec',
    keyRing: givenKeyRing(...keys),
    ...special,
  })
}

const apply = (text: string, special: Partial<ApplyOptions> = {}) => applyWith([SECRET_KEY], text, special)

async function recordsInLog(): Promise<bigint> {
  const watermarks = await readWatermarks(connection, topic)
  return watermarks.get(0)?.high ?? 0n
}

function complain(_fields: object, message: string): void {
  complaints.push(message)
}

const logger: Logger = { info: () => {}, debug: () => {}, warn: complain, error: complain }

async function startView(
  serviceName = 'gateway',
  currentEveryMs = 200,
  secretKeyIds?: readonly string[],
): Promise<LiveCatalogView> {
  const view = createCatalogView(connection, {
    serviceName,
    logger,
    topic,
    currentEveryMs,
    ...(secretKeyIds && { secretKeyIds }),
  })
  views.push(view)
  await view.start()
  return view
}

/** Publishes a record to the catalog, as a later version or a mistake may do. */
async function publish(key: string, value: string): Promise<void> {
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  const record = { topic, partition: 0, key, value, headers: { 'schema-version': '1' } }
  const attempt = async () => (await publisher.publish(record, performance.now() + 5_000)).outcome
  // A busy broker may not lead its new topic yet. A second record with the same revision changes nothing.
  await expect.poll(attempt, { timeout: 20_000 }).toBe('published')
  await publisher.stop(1_000)
}

const LATER = { type: 'OrganizationConfigured', id: randomUUID(), organization: 'acme', revision: 2 }

const revisionsInLog = async (): Promise<readonly number[]> => {
  const revisions: number[] = []
  await readLog(connection, {
    topic,
    from: new Map([[0, 0n]]),
    onBatch: ({ records }) => {
      const read = records.map(readCatalogRecord)
      const ofAcme = read.flatMap((one) => (one.outcome === 'read' && one.organization === 'acme' ? one : []))
      revisions.push(...ofAcme.map(({ revision }) => revision))
    },
    until: 'end',
  })
  return revisions
}

/** Starts a process of the previous release, which commits its offset, but no report. */
async function startPreviousView(serviceName: string) {
  const groupId = `nextvisit.${topic}.${serviceName}.${randomUUID()}`
  const reader = createGroupReader(
    connection,
    { groupId, topics: [topic], sessionTimeoutMs: 6_000 },
    { positions: async () => new Map([[0, 0n]]), onBatch: async () => {}, onCrash: () => {} },
  )
  await reader.start()
  onTestFinished(reader.stop)
  const readNotes = () => withLogAdmin(connection, (admin) => admin.groupNotes(groupId, topic))
  await expect.poll(async () => (await readNotes()).get(0), { timeout: 10_000 }).toBe('')
  return { groupId, stop: reader.stop }
}

describe('applying a workspace file', () => {
  it('publishes one record per organization, and nothing for unchanged ones', async () => {
    const first = await apply(file(acme('', BACKEND), '{ id: other }'))
    expect(first).toMatchObject({ outcome: 'applied' })
    expect(await apply(file(acme('', BACKEND), '{ id: other }'))).toEqual({ outcome: 'unchanged' })
    expect(await recordsInLog()).toBe(2n)

    const second = await apply(file(acme('plan: { uniqueEvents: 5 },', BACKEND), '{ id: other }'))
    expect(second).toMatchObject({ outcome: 'applied', revisions: new Map([['acme', 2]]) })
    expect(await recordsInLog()).toBe(3n)
    expect(second.outcome === 'applied' && second.changes.map(changeLine)).toEqual([
      '~ acme plan.uniqueEvents (none) → 5',
    ])
  })

  it('leaves every revision in the log with its author, time and changes', async () => {
    for (const uniqueEvents of [1, 2, 3])
      await apply(file(acme(`plan: { uniqueEvents: ${uniqueEvents} },`)), { appliedBy: `person ${uniqueEvents}` })
    const { revisions } = await readCatalogHistory(connection, topic)
    expect(revisions.map((one) => [one.revision, one.appliedBy, one.comparedWith])).toEqual([
      [1, 'person 1', 0],
      [2, 'person 2', 1],
      [3, 'person 3', 2],
    ])
    expect(revisions[2]?.changes.map(changeLine)).toEqual(['~ acme plan.uniqueEvents 2 → 3'])
  })

  it('reports the difference before it publishes, and publishes nothing in a dry run', async () => {
    const told: string[] = []
    const onDifference = (changes: readonly Change[]): void => void told.push(...changes.map(changeLine))
    expect(await apply(file('{ id: acme }'), { dryRun: true, onDifference })).toMatchObject({ outcome: 'dry-run' })
    expect(told).toEqual(['+ acme organization'])
    expect(await recordsInLog()).toBe(0n)
  })

  it('lets the first of two racing appliers win, and informs the other', async () => {
    await apply(file('{ id: acme }'))
    const outcomes = await Promise.all([
      apply(file('{ id: acme, plan: { uniqueEvents: 1 } }')),
      apply(file('{ id: acme, plan: { uniqueEvents: 2 } }')),
    ])
    const { state } = await readCatalog(connection, topic)
    // If one has already read the record of the other, its own revision follows, and both count.
    const won = outcomes.filter(({ outcome }) => outcome === 'applied').length
    expect(state.organizations.get('acme')?.revision).toBe(1 + won)
    for (const outcome of outcomes.filter((one) => one.outcome !== 'applied')) {
      expect(outcome).toEqual({ outcome: 'not-applied', lost: ['acme'], missing: [] })
    }
  })

  it('informs an applier whose revision was taken between its read and its publish', async () => {
    const rival = () => apply(file('{ id: acme, plan: { uniqueEvents: 2 } }'))
    const mine = await apply(file('{ id: acme, plan: { uniqueEvents: 1 } }', '{ id: other }'), {
      onDifference: async () => expect(await rival()).toMatchObject({ outcome: 'applied' }),
    })
    expect(mine).toEqual({ outcome: 'not-applied', lost: ['acme'], missing: [] })
    const { state } = await readCatalog(connection, topic)
    expect(state.organizations.get('acme')?.config?.plan).toEqual({ uniqueEvents: 2 })
    expect(state.organizations.get('other')?.latestRevision).toBe(1)
  })

  it('leaves organizations that the file does not name, and removes them with prune', async () => {
    await apply(file(acme('', BACKEND), '{ id: other }'))
    expect(await apply(file('{ id: other }'))).toMatchObject({ outcome: 'unchanged' })
    const pruned = await apply(file('{ id: other }'), { prune: true })
    expect(pruned).toMatchObject({ outcome: 'applied', revisions: new Map([['acme', 2]]) })
    expect(await apply(file('{ id: other }'), { prune: true })).toMatchObject({ outcome: 'unchanged' })
    const again = await apply(file(acme('', BACKEND)))
    expect(again).toMatchObject({ outcome: 'applied', revisions: new Map([['acme', 3]]) })
  })

  it('refuses a key of an organization that the file does not name', async () => {
    await apply(file(acme('', BACKEND)))
    const refused = await apply(file(`{ id: thief, projects: [{ id: shop, keys: [${BACKEND}] }] }`))
    expect(refused).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('already belongs to organization acme'),
    })
    expect(await recordsInLog()).toBe(1n)
  })

  it('names the remedy if the topic does not exist', async () => {
    await expect(apply(file('{ id: acme }'), { topic: 'test-catalog-nowhere' })).rejects.toThrow(CatalogTopicError)
    await expect(apply(file('{ id: acme }'), { topic: 'test-catalog-nowhere' })).rejects.toThrow(
      'nextvisit topics create',
    )
  })
})

const signed = (id: string) =>
  `{ id: ${id}, projects: [{ id: shop, requireUserSignature: true, signingSecret: $SIGNING_SECRET }] }`
const secretOf = async (id: string) =>
  (await readCatalog(connection, topic)).state.organizations.get(id)?.config?.projects[0]?.signingSecret ?? ''

describe('applying with several secret keys', () => {
  const both = [NEW_SECRET_KEY, SECRET_KEY]

  it('moves unchanged secrets to the newest key, once, and counts them', async () => {
    await apply(file(signed('acme'), signed('other'), '{ id: without }'))
    const moved = await applyWith(both, file(signed('acme'), signed('other'), '{ id: without }'))
    expect(moved).toMatchObject({ outcome: 'applied', reencrypted: 2 })
    expect(moved.outcome === 'applied' && moved.changes.map(changeLine)).toEqual([
      `~ acme/shop signingSecret (re-encrypted with key ${NEW_ID})`,
      `~ other/shop signingSecret (re-encrypted with key ${NEW_ID})`,
    ])
    expect(sealedWith(await secretOf('acme'))).toBe(NEW_ID)
    for (const keys of [both, [NEW_SECRET_KEY]])
      expect(await applyWith(keys, file(signed('acme'), signed('other')))).toEqual({ outcome: 'unchanged' })
  })

  it('shows the move in a dry run, and in the history of the catalog', async () => {
    await apply(file(signed('acme')))
    expect(await applyWith(both, file(signed('acme')), { dryRun: true })).toMatchObject({
      outcome: 'dry-run',
      changes: [{ what: `signingSecret (re-encrypted with key ${NEW_ID})` }],
    })
    expect(sealedWith(await secretOf('acme'))).toBe(OLD_ID)
    await applyWith(both, file(signed('acme')))
    const { revisions } = await readCatalogHistory(connection, topic)
    expect(revisions.at(-1)?.changes.map(changeLine)).toEqual([
      `~ acme/shop signingSecret (encrypted with key ${NEW_ID})`,
    ])
  })

  it('calls a changed secret another one, whichever key encrypts it', async () => {
    await apply(file(signed('acme')))
    for (const [keys, secret] of [
      [[SECRET_KEY], 'second'],
      [both, 'third'],
    ] as const) {
      const changed = await applyWith(keys, file(signed('acme')), {}, { SIGNING_SECRET: secret })
      expect(changed).toMatchObject({ outcome: 'applied', reencrypted: 0 })
      expect(changed.outcome === 'applied' && changed.changes.map(changeLine)).toEqual([
        '~ acme/shop signingSecret (another one)',
      ])
    }
  })

  it('replaces a secret whose key is lost by that of the file', async () => {
    await apply(file(signed('acme')))
    const healed = await applyWith([NEW_SECRET_KEY], file(signed('acme')))
    expect(healed.outcome === 'applied' && healed.changes.map(changeLine)).toEqual([
      `~ acme/shop signingSecret (encrypted with key ${NEW_ID})`,
    ])
    expect(sealedWith(await secretOf('acme'))).toBe(NEW_ID)
  })

  it('is refused while a running process lacks the newest key, and changes nothing', async () => {
    await apply(file(signed('acme')))
    const old = await startView('gateway', 200, [OLD_ID])
    await awaitViews({ connection, topic })
    expect(await applyWith(both, file(signed('acme')))).toMatchObject({
      outcome: 'refused',
      reason: expect.stringMatching(
        new RegExp(
          `^NEXTVISIT_SECRET_KEY of gateway\\..* lacks key ${NEW_ID}, so the pages of acme/shop would be refused`,
        ),
      ),
    })
    expect(sealedWith(await secretOf('acme'))).toBe(OLD_ID)
    // The old key still applies changes, such as a revocation.
    expect(await apply(file(signed('acme'), '{ id: other }'))).toMatchObject({ outcome: 'applied' })

    await startView('gateway', 200, [NEW_ID, OLD_ID])
    await old.stop()
    await awaitViews({ connection, topic })
    expect(await applyWith(both, file(signed('acme')))).toMatchObject({ outcome: 'applied', reencrypted: 1 })
  })

  it('is also refused if a project begins to require signatures under a key that a process lacks', async () => {
    await applyWith(both, file(acme()))
    await startView('gateway', 200, [OLD_ID])
    await awaitViews({ connection, topic })
    expect(await applyWith(both, file(signed('acme')))).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining(`lacks key ${NEW_ID}`),
    })
  })
})

const hook =
  '{ id: acme, projects: [{ id: shop, webhooks: [{ id: crm, url: "https://a.example", secret: $HOOK_SECRET }] }] }'
const [FIRST_SECRET, SECOND_SECRET] = [1, 2].map((byte) => createWebhookSecret(new Uint8Array(32).fill(byte)))
const crmOf = async () => {
  const { state } = await readCatalog(connection, topic)
  return state.organizations.get('acme')?.config?.projects[0]?.webhooks[0]
}

describe('applying a webhook', () => {
  const both = [NEW_SECRET_KEY, SECRET_KEY]

  it('keeps its age, lets its previous secret sign for 24 h, and moves both to the newest key', async () => {
    const change = async (keys: readonly string[], secret = SECOND_SECRET) => {
      const now = new Date('2026-11-28T12:00:00.000Z')
      const applied = await applyWith(keys, file(hook), { now }, { HOOK_SECRET: secret })
      return applied.outcome === 'applied' ? applied.changes.map(changeLine) : applied.outcome
    }
    expect(await change([SECRET_KEY], FIRST_SECRET)).toContain('+ acme/shop webhook crm')
    const added = await crmOf()
    expect(await change([SECRET_KEY], FIRST_SECRET)).toBe('unchanged')
    expect(await change([SECRET_KEY])).toEqual([
      '~ acme/shop webhook crm secret (another one; the one before signs until 2026-11-29T12:00:00.000Z)',
    ])
    expect(await crmOf()).toMatchObject({
      addedAt: added?.addedAt,
      previousSecret: { secret: added?.secret, until: '2026-11-29T12:00:00.000Z' },
    })
    expect(await change([SECRET_KEY])).toBe('unchanged')
    expect(await change(both)).toEqual([
      `~ acme/shop webhook crm secret (re-encrypted with key ${NEW_ID})`,
      `~ acme/shop webhook crm previousSecret (re-encrypted with key ${NEW_ID})`,
    ])
    expect(await change(both)).toBe('unchanged')
    const { revisions } = await readCatalogHistory(connection, topic)
    expect(JSON.stringify(revisions)).not.toContain('whsec_')
    const moved = file(hook.replace('a.example', 'b.example'))
    const in24h = { now: new Date('2026-11-29T12:00:00.000Z') }
    const later = await applyWith(both, moved, in24h, { HOOK_SECRET: SECOND_SECRET })
    expect(later.outcome === 'applied' && later.changes.map(changeLine)).toEqual([
      '~ acme/shop webhook crm url a.example → b.example',
    ])
    expect(await crmOf()).not.toHaveProperty('previousSecret')
  })

  it('is refused while a running process lacks the key that encrypts its secret', async () => {
    await apply(file('{ id: acme }'))
    const dispatcher = await startView('webhook-dispatcher', 200, [OLD_ID])
    // Gateways sign no webhooks, and the dispatcher checks no pages.
    await startView('gateway', 200, [NEW_ID])
    await awaitViews({ connection, topic })
    expect(await applyWith(both, file(hook), {}, { HOOK_SECRET: FIRST_SECRET })).toMatchObject({
      outcome: 'refused',
      reason: expect.stringMatching(
        new RegExp(
          `^NEXTVISIT_SECRET_KEY of webhook-dispatcher\\..* lacks key ${NEW_ID}, so webhook crm of acme/shop would`,
        ),
      ),
    })
    expect(await applyWith(both, file(signed('acme')))).toMatchObject({ outcome: 'applied' })
    await startView('webhook-dispatcher', 200, [NEW_ID])
    await dispatcher.stop()
    await awaitViews({ connection, topic })
    expect(await applyWith(both, file(hook), {}, { HOOK_SECRET: FIRST_SECRET })).toMatchObject({ outcome: 'applied' })
  })
})

const COMPACTED_SOON = {
  'cleanup.policy': 'compact',
  'segment.ms': '50',
  'min.cleanable.dirty.ratio': '0.001',
  'min.compaction.lag.ms': '0',
  'delete.retention.ms': '0',
}

describe('a compacted catalog', () => {
  it('keeps the records that count: the latest revision, and the first of two equal ones', {
    timeout: 180_000,
  }, async () => {
    await withLogAdmin(connection, (admin) => admin.deleteTopic(topic))
    topic = `${topic}-compacted`
    await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions: 1, config: COMPACTED_SOON }))
    for (const uniqueEvents of [1, 2, 3, 4])
      await apply(file(acme(`plan: { uniqueEvents: ${uniqueEvents} },`, BACKEND)))
    await apply(file(acme('plan: { uniqueEvents: 5 },')))
    // A racing record that also follows revision 4, and would restore the key.
    const rival = { ...LATER, id: randomUUID(), revision: 5, config: { id: 'acme', projects: [] } }
    await publish(`acme/5/${rival.id}`, JSON.stringify(rival))
    let ticks = 0
    const compacted = async () => {
      // Kafka closes a segment, and then compacts it, only when a record arrives.
      await apply(file(`{ id: other, plan: { uniqueEvents: ${ticks++} } }`))
      return revisionsInLog()
    }
    await expect.poll(compacted, { timeout: 150_000, interval: 1_000 }).toEqual([4, 5, 5])

    const { revisions } = await readCatalogHistory(connection, topic)
    const ofAcme = revisions.filter(({ organization }) => organization === 'acme')
    expect(ofAcme).toMatchObject([
      { revision: 4, comparedWith: null, changes: [] },
      { revision: 5, comparedWith: 4, outcome: 'counts' },
      { revision: 5, outcome: 'late' },
    ])

    const view = await startView()
    expect(view.revision('acme')).toBe(5)
    expect(view.project('acme', 'shop')?.plan).toEqual({ uniqueEvents: 5 })
    expect(view.keyByHash(hashApiKey(ADMIN_KEY))).toBeUndefined()
    expect(await awaitViews({ connection, topic })).toMatchObject({ lagging: [], problems: [] })
    expect(await apply(file(acme()))).toMatchObject({ outcome: 'applied', revisions: new Map([['acme', 6]]) })
  })
})

describe('a view of the catalog', () => {
  it('has the whole catalog once it has started, and follows changes', async () => {
    await apply(file(acme('', BACKEND)))
    const view = await startView()
    expect(view.keyByHash(hashApiKey(ADMIN_KEY))?.project).toMatchObject({ organization: 'acme', project: 'shop' })
    expect(view.isCurrentWithin(30_000)).toBe(true)

    const changed: string[] = []
    view.onChange((organization) => changed.push(organization))
    await apply(file(acme('plan: { uniqueEvents: 1 },', BACKEND)))
    await until(() => view.revision('acme') === 2)
    expect(changed).toEqual(['acme'])
    expect(view.project('acme', 'shop')?.plan).toEqual({ uniqueEvents: 1 })
  })

  it('starts on an empty catalog', async () => {
    const view = await startView()
    expect([...view.projects()]).toEqual([])
    expect(view.isCurrentWithin(30_000)).toBe(true)
  })

  it('no longer has a revoked key, in any process, once apply has returned', async () => {
    await apply(file(acme('', BACKEND)))
    const all = await Promise.all([startView('gateway'), startView('gateway'), startView('metering')])
    const revoked = await apply(file(acme()))
    expect(revoked.outcome).toBe('applied')
    const report = await awaitViews({ connection, topic })
    expect(report.lagging).toEqual([])
    expect(Map.groupBy(report.current, (name) => name.split('.')[0])).toMatchObject(
      new Map([
        ['gateway', { length: 2 }],
        ['metering', { length: 1 }],
      ]),
    )
    expect(all.map((view) => view.keyByHash(hashApiKey(ADMIN_KEY)))).toEqual([undefined, undefined, undefined])
  })

  it('is not awaited after its end, and is named if it does not report its catalog', async () => {
    const [gone, staying] = await Promise.all([startView('gone'), startView('staying')])
    const { outcome } = await apply(file('{ id: acme }'))
    expect(outcome).toBe('applied')
    await awaitViews({ connection, topic })
    await gone.stop()
    await startPreviousView('old')
    const report = await awaitViews({ connection, topic })
    expect(report).toEqual({
      current: [expect.stringMatching(/^staying\./)],
      lagging: [],
      silent: [expect.stringMatching(/^old\./)],
      problems: [],
      secretKeyIds: new Map(),
    })
    expect(staying.revision('acme')).toBe(1)
  })

  it('leaves no consumer group behind, and removes those of processes that were killed', async () => {
    const groups = () => withLogAdmin(connection, (admin) => admin.listGroups(`nextvisit.${topic}.`))
    await apply(file('{ id: acme }'))
    const killed = await startPreviousView('gateway')
    await killed.stop()
    expect(await groups()).toHaveLength(1)
    const view = await startView('gateway')
    await awaitViews({ connection, topic })
    await expect.poll(groups, { timeout: 10_000 }).toEqual([expect.not.stringContaining(killed.groupId)])
    await view.stop()
    expect(await groups()).toEqual([])
  })

  it('skips a record that names no organization, and logs it', async () => {
    await publish('', '{"type":"OrganizationConfigured"}')
    expect(await apply(file('{ id: acme }'))).toMatchObject({ outcome: 'applied' })
    const view = await startView()
    expect(view.revision('acme')).toBe(1)
    expect(complaints).toContain('Skipped a catalog record that names no organization')
  })

  it('refuses the keys of an organization whose record cannot be read, at once and after a restart', async () => {
    await apply(file(acme('', BACKEND), '{ id: other }'))
    const running = await startView()
    await publish('acme/2/a', JSON.stringify({ ...LATER, config: { id: 'acme', plan: 'unlimited', projects: [] } }))
    await expect.poll(() => running.keyByHash(hashApiKey(ADMIN_KEY)), { timeout: 10_000 }).toBeUndefined()
    const restarted = await startView()
    expect(restarted.keyByHash(hashApiKey(ADMIN_KEY))).toBeUndefined()
    expect(restarted.project('acme', 'shop')?.revision).toBe(1)
    expect(complaints).toContain('This process does not understand all of a catalog record')
  })

  it('is named with an organization that it does not understand, and continues with the next revision', async () => {
    await apply(file('{ id: acme }', '{ id: other }'))
    const view = await startView()
    await publish('acme/2/a', JSON.stringify({ ...LATER, config: { id: 'acme', plan: 'unlimited' } }))
    const report = await awaitViews({ connection, topic })
    expect(report).toMatchObject({ current: [expect.stringMatching(/^gateway\./)], lagging: [] })
    expect(report.problems.map(problemLine)).toEqual([
      expect.stringMatching(/^gateway\.\S+: revision 2 of acme is not understood; revision 1 is used: config\.plan: /),
    ])
    const wanted = file('{ id: acme, plan: { uniqueEvents: 1 } }', '{ id: other }')
    expect(await apply(wanted)).toMatchObject({
      outcome: 'refused',
      reason: expect.stringMatching(/does not understand revision 2 of acme.*--overwrite/),
    })
    expect(await apply(file('{ id: other, plan: { uniqueEvents: 1 } }'))).toMatchObject({ outcome: 'applied' })
    expect(await apply(wanted, { overwrite: true })).toMatchObject({
      outcome: 'applied',
      revisions: new Map([
        ['acme', 3],
        ['other', 3],
      ]),
    })
    expect(await awaitViews({ connection, topic })).toMatchObject({ lagging: [], problems: [] })
    expect([view.revision('acme'), view.problems()]).toEqual([3, []])
  })

  it('keeps the catalog before an undecodable batch, until each organization is applied again', async () => {
    const wanted = file(acme('', BACKEND), '{ id: other }')
    await apply(wanted)
    const running = await startView()
    await publishCompressed(connection, { topic, partition: 0 }, { records: 100_001 })
    const report = await awaitViews({ connection, topic })
    expect(report.problems.map(({ organization }) => organization)).toEqual(['acme', 'other'])
    expect(running.keyByHash(hashApiKey(ADMIN_KEY))).toBeDefined()
    expect(await apply(wanted)).toMatchObject({
      outcome: 'applied',
      changes: [
        { where: 'acme', what: 'revision ? (cannot be decoded)' },
        { where: 'other', what: 'revision ? (cannot be decoded)' },
      ],
    })
    expect(await awaitViews({ connection, topic })).toMatchObject({ lagging: [], problems: [] })
    expect(await apply(wanted)).toEqual({ outcome: 'unchanged' })
    const restarted = await startView()
    expect([restarted.revision('acme'), restarted.problems()]).toEqual([running.revision('acme'), []])
  })

  it('is not current once it cannot read the end of the log', async () => {
    const view = await startView('gateway', 50)
    await view.stop()
    const stoppedAt = view.currentAsOfMs()
    await sleep(200)
    expect(view.currentAsOfMs()).toBe(stoppedAt)
    expect(view.isCurrentWithin(100)).toBe(false)
    expect(view.isCurrentWithin(600_000)).toBe(true)
    // A machine clock that is set back does not make it current either.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
    onTestFinished(() => void vi.useRealTimers())
    expect(view.isCurrentWithin(100)).toBe(false)
  })

  it('rejects its start if it is stopped before the log answered', async () => {
    const nowhere = { ...connection, brokers: ['127.0.0.1:1'] }
    const view = createCatalogView(nowhere, { serviceName: 'gateway', logger, topic })
    const started = view.start()
    started.catch(() => {})
    await view.stop()
    await expect(started).rejects.toThrow('stopped before it had read the catalog')
  })
})
