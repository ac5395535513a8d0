import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createCatalogView } from '@nextvisit/catalog'
import { withLogAdmin, type LogConnection } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { apply } from './apply.ts'

const connection: LogConnection = { brokers: inject('kafkaBrokers').split(','), clientId: 'cli-spec' }
let folder: string
let topic: string
let printed: string[]

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  topic = `test-catalog-${randomUUID().slice(0, 8)}`
  printed = []
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line))
  vi.stubEnv('KAFKA_BROKERS', inject('kafkaBrokers'))
  await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions: 1 }))
})

afterEach(async () => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  await rm(folder, { recursive: true })
})

async function fileOf(text: string): Promise<string> {
  const file = path.join(folder, 'workspace.yaml')
  await writeFile(file, text)
  return file
}

/** Writes a file of a project with a publishable key. */
function fileWithKey(environment: string): Promise<string> {
  const key = `{ name: web, kind: sdk, environment: ${environment}, sha256: ${'ab'.repeat(32)} }`
  return fileOf(`organizations: [{ id: acme, projects: [{ id: shop, keys: [${key}] }] }]`)
}

function takeWarnings(): readonly string[] {
  return printed.splice(0).filter((line) => line.startsWith('! '))
}

describe('nextvisit apply', () => {
  it('shows the difference, and reports when every running service has it', async () => {
    const view = createCatalogView(connection, {
      serviceName: 'gateway',
      logger: createLogger('spec', 'silent'),
      topic,
    })
    await view.start()
    await apply(await fileOf('organizations: [{ id: acme, projects: [{ id: shop }] }]'), {}, topic)
    expect(view.revision('acme')).toBe(1)
    expect(printed.splice(0)).toEqual([
      '+ acme organization',
      '+ acme/shop project',
      'acme is at revision 1.',
      'Every running service has it (1).',
    ])
    await view.stop()

    await apply(await fileOf('organizations: [{ id: acme }]'), { dryRun: true }, topic)
    expect(printed.splice(0)).toEqual(['- acme/shop project', 'Nothing was changed: this was a dry run.'])
    await apply(await fileOf('organizations: [{ id: acme, projects: [{ id: shop }] }]'), {}, topic)
    expect(printed.splice(0)).toEqual(['The configuration already matches the file.', 'No service is running.'])
    await apply(await fileOf('organizations: []'), { prune: true }, topic)
    expect(printed.splice(0)).toEqual(['- acme organization', 'acme is at revision 2.', 'No service is running.'])
  })

  it('warns about a project whose pages anyone can imitate, each time', async () => {
    await apply(await fileWithKey('T'), {}, topic)
    expect(takeWarnings()).toEqual([])
    for (const flags of [{ dryRun: true }, {}, {}] as const) {
      await apply(await fileWithKey('P'), flags, topic)
      expect(takeWarnings()).toEqual([
        expect.stringMatching(/^! acme\/shop: anyone who reads the publishable key \(web\) can act as any user/),
      ])
    }
  })
})
