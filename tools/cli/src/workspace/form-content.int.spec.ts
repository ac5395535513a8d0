import { randomUUID } from 'node:crypto'
import {
  changeLine,
  createCatalogView,
  problemLine,
  readCatalog,
  readCatalogHistory,
  readCatalogRecord,
} from '@nextvisit/catalog'
import { encodeRecord, type FormContentApplied } from '@nextvisit/contracts'
import { createPublisher, readLog, type LogConnection, type Logger, withLogAdmin } from '@nextvisit/log'
import { until, PATIENT_REQUESTS } from '@nextvisit/testing'
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { applyWorkspace, type ApplyOptions } from './apply-workspace.ts'
import { awaitViews } from './await-views.ts'
import { parseWorkspaceFile } from './parse-workspace-file.ts'

const connection: LogConnection = { brokers: inject('kafkaBrokers').split(','), clientId: 'content-spec' }
const silent: Logger = { info: () => {}, debug: () => {}, warn: () => {}, error: () => {} }
const SHOP = { organization: 'acme', project: 'shop' }

let topic: string

beforeEach(async () => {
  topic = `test-content-${randomUUID().slice(0, 8)}`
  await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions: 1 }))
})

/** Returns a content of one element, in English and German. */
function content(title: string): string {
  return `content: { languages: [en, de], title: ${title}, elements: [{ id: score, type: nps }] }`
}

/** Applies an organization with these forms. */
async function apply(forms: readonly string[], special: Partial<ApplyOptions> = {}, members = '') {
  const file = `organizations: [{ id: acme, ${members} projects: [{ id: shop, forms: [${forms.join()}] }] }]`
  const parsed = parseWorkspaceFile(file, {})
  if (parsed.outcome === 'invalid') throw new Error(JSON.stringify(parsed.faults))
  const { organizations, contents } = parsed
  return applyWorkspace({ connection, topic, organizations, contents, appliedBy: 'spec', ...special })
}

/** Applies one form, with a content of this title. */
const applyNps = (title: string, special?: Partial<ApplyOptions>) => apply([`{ id: nps, ${content(title)} }`], special)

const linesOf = (applied: Awaited<ReturnType<typeof apply>>) =>
  applied.outcome === 'applied' || applied.outcome === 'dry-run' ? applied.changes.map(changeLine) : applied

/** Returns the records in the log, such as `content nps 1` and `revision 1`. */
async function recordsInLog(): Promise<readonly string[]> {
  const found: string[] = []
  await readLog(connection, {
    topic,
    from: new Map([[0, 0n]]),
    onBatch: ({ records }) => {
      for (const record of records.map(readCatalogRecord)) {
        if (record.outcome === 'content') found.push(`content ${record.content.formId} ${record.content.revision}`)
        if (record.outcome === 'read') found.push(`revision ${record.revision}`)
      }
    },
    until: 'end',
  })
  return found
}

async function startView(withFormContents = true) {
  const view = createCatalogView(connection, {
    serviceName: 'gateway',
    logger: silent,
    topic,
    currentEveryMs: 200,
    withFormContents,
  })
  onTestFinished(view.stop)
  await view.start()
  const refOf = (formId = 'nps') => view.project('acme', 'shop')?.config.forms.find(({ id }) => id === formId)?.content
  const titleOf = (revision: number, formId = 'nps') => view.formContent(SHOP, formId, revision)?.title
  return { ...view, refOf, titleOf }
}

async function publish(record: FormContentApplied | object, key: string): Promise<void> {
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  const encoded = encodeRecord(record as FormContentApplied, { source: 'cli', time: new Date().toISOString() })
  const published = await publisher.publish({ topic, partition: 0, key, ...encoded }, performance.now() + 5_000)
  expect(published.outcome).toBe('published')
  await publisher.stop(1_000)
}

describe('the content of a form', () => {
  it('is applied before its revision, and again only if it changes', async () => {
    expect(linesOf(await applyNps('One'))).toEqual([
      '+ acme organization',
      '+ acme/shop project',
      '+ acme/shop form nps with content (1 element, en, de)',
    ])
    expect(await recordsInLog()).toEqual(['content nps 1', 'revision 1'])
    expect(await applyNps('One')).toEqual({ outcome: 'unchanged' })
    expect(await recordsInLog()).toHaveLength(2)

    expect(linesOf(await applyNps('Two', { dryRun: true }))).toEqual([
      '~ acme/shop form nps content (1 element, en, de)',
    ])
    expect(await recordsInLog()).toHaveLength(2)
    expect(linesOf(await applyNps('Two'))).toEqual(['~ acme/shop form nps content (1 element, en, de)'])
    expect(await recordsInLog()).toEqual(['content nps 1', 'revision 1', 'content nps 2', 'revision 2'])
    const { revisions } = await readCatalogHistory(connection, topic)
    expect(revisions.map(({ revision }) => revision)).toEqual([1, 2])
    expect(revisions.at(-1)?.changes.map(changeLine)).toEqual(['~ acme/shop form nps content (1 element, en, de)'])
  })

  it('keeps its revision while other parts change, and is equal in any order of its members', async () => {
    await applyNps('One')
    const other = 'content: { elements: [{ type: nps, id: score }], title: One, languages: [en, de] }'
    expect(linesOf(await apply([`{ id: nps, priority: 5, ${other} }`]))).toEqual([
      '~ acme/shop form nps priority 0 → 5',
    ])
    const view = await startView()
    expect(view.revision('acme')).toBe(2)
    expect(view.refOf()?.revision).toBe(1)
    expect(view.titleOf(1)).toBe('One')
  })

  it('is readable for every revision, also once it is changed, removed, or its form is', async () => {
    await apply([`{ id: nps, ${content('One')} }`, `{ id: other, ${content('Other')} }`])
    await apply([`{ id: nps, ${content('Two')} }`, `{ id: other, ${content('Other')} }`])
    const removed = await apply(['{ id: nps }'])
    expect(linesOf(removed)).toEqual(['~ acme/shop form nps content (removed)', '- acme/shop form other'])
    const view = await startView()
    expect(view.refOf()).toBeUndefined()
    expect([view.titleOf(1), view.titleOf(2), view.titleOf(3), view.titleOf(1, 'other')]).toEqual([
      'One',
      'Two',
      undefined,
      'Other',
    ])
    expect(view.problems()).toEqual([])

    // The same content begins with a new revision.
    await applyNps('One')
    await until(() => view.revision('acme') === 4)
    expect(view.refOf()?.revision).toBe(4)
    expect(view.titleOf(4)).toBe('One')
  })

  it('is the one of the revision that counts if two applies race', async () => {
    await applyNps('One')
    const mine = await applyNps('Mine', {
      onDifference: async () => expect(await applyNps('Rival')).toMatchObject({ outcome: 'applied' }),
    })
    expect(mine).toEqual({ outcome: 'not-applied', lost: ['acme'], missing: [] })
    expect(await recordsInLog()).toEqual([
      'content nps 1',
      'revision 1',
      'content nps 2',
      'revision 2',
      'content nps 2',
      'revision 2',
    ])
    const view = await startView()
    expect(view.titleOf(2)).toBe('Rival')
    await applyNps('Three')
    await until(() => view.revision('acme') === 3)
    expect([view.titleOf(2), view.titleOf(3)]).toEqual(['Rival', 'Three'])
  })

  it('is the one that the revision names, even if the content of a lost apply is first in the log', async () => {
    await applyNps('One')
    const { state } = await readCatalog(connection, topic, { withFormContents: true })
    const lost = state.contents?.content(SHOP, 'nps', 1)
    const hash = '0123456789abcdef'
    const record = { ...SHOP, type: 'FormContentApplied', id: randomUUID(), formId: 'nps', revision: 2, hash }
    const appliedAt = new Date().toISOString()
    await publish({ ...record, content: { ...lost, title: 'Lost' }, appliedAt }, `acme/content/shop/nps/2/${hash}`)
    const running = await startView()
    expect(running.titleOf(2)).toBe('Lost')
    await applyNps('Two')
    await until(() => running.revision('acme') === 2)
    await applyNps('Three')
    await until(() => running.revision('acme') === 3)
    const restarted = await startView()
    for (const view of [running, restarted]) expect([view.titleOf(2), view.titleOf(3)]).toEqual(['Two', 'Three'])
  })

  it('holds its revision back if it is not in the log', async () => {
    topic = `${topic}-small`
    const config = { 'max.message.bytes': '3000' }
    await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions: 1, config }))
    const elements = Array.from({ length: 3 }, (_, nth) => `{ id: e${nth}, type: text, label: ${'x'.repeat(1_500)} }`)
    const applied = await apply([`{ id: nps, content: { elements: [${elements.join()}] } }`])
    expect(applied).toEqual({ outcome: 'not-applied', lost: [], missing: ['acme'] })
    expect(await recordsInLog()).toEqual([])
    expect(await apply(['{ id: nps }'])).toMatchObject({ outcome: 'applied' })
  })

  it('is in every process that has its revision, and in none that holds no contents', async () => {
    const [withContents, without] = await Promise.all([startView(), startView(false)])
    await applyNps('One')
    expect(await awaitViews({ connection, topic })).toMatchObject({ lagging: [], problems: [] })
    for (const view of [withContents, without]) expect(view.refOf()).toMatchObject({ revision: 1 })
    expect([withContents.titleOf(1), without.titleOf(1)]).toEqual(['One', undefined])
  })

  it('is published again if the log lacks it', async () => {
    await applyNps('One')
    const other = `${topic}-without`
    await withLogAdmin(connection, (admin) => admin.createTopic(other, { partitions: 1 }))
    const source = topic
    const copied: { key: string; value: string; headers: Record<string, string> }[] = []
    await readLog(connection, {
      topic: source,
      from: new Map([[0, 0n]]),
      onBatch: ({ records }) => {
        for (const record of records) {
          if (readCatalogRecord(record).outcome !== 'read') continue
          copied.push({ key: String(record.key), value: String(record.value), headers: { ...record.headers } })
        }
      },
      until: 'end',
    })
    topic = other
    const publisher = createPublisher(connection, PATIENT_REQUESTS)
    await publisher.start()
    for (const record of copied) await publisher.publish({ topic, partition: 0, ...record }, performance.now() + 5_000)
    await publisher.stop(1_000)

    const view = await startView()
    const report = await awaitViews({ connection, topic })
    expect(report.problems.map(problemLine)).toEqual([
      expect.stringMatching(
        /^gateway\..*: revision 1 of acme is used, but these forms have no content in the log: shop\/nps\. /,
      ),
    ])
    expect(linesOf(await applyNps('One'))).toEqual(['~ acme revision 1 (lacks contents of forms)'])
    expect(await awaitViews({ connection, topic })).toMatchObject({ lagging: [], problems: [] })
    expect([view.refOf()?.revision, view.titleOf(1)]).toEqual([1, 'One'])
    expect(await applyNps('One')).toEqual({ outcome: 'unchanged' })
  })

  it('is named by a process that does not understand it, and protected from an older apply', async () => {
    await applyNps('One')
    const { state } = await readCatalog(connection, topic)
    const config = state.organizations.get('acme')?.config
    const hash = 'fedcba9876543210'
    const later = {
      ...SHOP,
      formId: 'nps',
      revision: 2,
      hash,
      content: { languages: ['en'], elements: [{ id: 'a', type: 'slider' }] },
    }
    const appliedAt = new Date().toISOString()
    await publish(
      { ...later, type: 'FormContentApplied', id: randomUUID(), appliedAt },
      `acme/content/shop/nps/2/${hash}`,
    )
    const projects = [
      { ...config?.projects[0], forms: [{ ...config?.projects[0]?.forms[0], content: { revision: 2, hash } }] },
    ]
    const id = randomUUID()
    const revision = {
      type: 'OrganizationConfigured',
      id,
      organization: 'acme',
      revision: 2,
      config: { ...config, projects },
    }
    await publish({ ...revision, appliedAt, appliedBy: 'later' }, `acme/2/${id}`)

    const view = await startView()
    expect(view.titleOf(2)).toBeUndefined()
    const { problems } = await awaitViews({ connection, topic })
    expect(problems.map(problemLine)).toEqual([
      expect.stringMatching(
        /revision 2 of acme is not understood in full: shop: content nps \(elements\.0\.type: must be one of/,
      ),
    ])
    expect(await applyNps('Two')).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('--overwrite') })
    expect(await applyNps('Two', { overwrite: true })).toMatchObject({ outcome: 'applied' })
    await until(() => view.revision('acme') === 3)
    expect([view.titleOf(3), view.problems()]).toEqual(['Two', []])
  })
})
