import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createTestTopic } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { apply } from './apply.ts'
import { demo } from './demo.ts'

it('nextvisit demo reports the changes that it undoes in the organization demo, and leaves others unchanged', async () => {
  const { topic } = await createTestTopic(inject('kafkaBrokers'))
  const folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  const printed: string[] = []
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line))
  vi.stubEnv('KAFKA_BROKERS', inject('kafkaBrokers'))
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
    await rm(folder, { recursive: true })
  })
  const flags = { gateway: 'http://127.0.0.1:8080', keysFile: path.join(folder, 'keys.json') }
  const run = async () => {
    printed.splice(0)
    await demo(flags, topic)
    return printed.slice(
      0,
      printed.findIndex((line) => line.startsWith('Demo keys: ')),
    )
  }
  expect(await run()).toEqual([])
  expect(await run()).toEqual([])

  const file = path.join(folder, 'workspace.yaml')
  const projects = '[{ id: shop }, { id: staging }]'
  await writeFile(file, `organizations: [{ id: demo, projects: ${projects} }, { id: acme, projects: ${projects} }]`)
  await apply(file, {}, topic)
  const told = await run()
  expect(told[0]).toMatch(/^! The catalog differed from the workspace file/)
  expect(told).toContain('    - demo/staging project')
  expect(told.join('\n')).not.toContain('acme')
  expect(await run()).toEqual([])
})
