import { randomUUID } from 'node:crypto'
import { OrganizationConfig } from '@nextvisit/contracts'
import { withLogAdmin } from '@nextvisit/log'
import { expect, inject, it } from 'vitest'
import { applyToCatalog } from './workspace-step.ts'

const form = { id: 'nps', triggers: [{ visit: {} }] }
const demo = (forms: readonly object[]) =>
  OrganizationConfig.parse({ id: 'demo', plan: { uniqueEvents: 9 }, projects: [{ id: 'shop', forms }] })

it('a start reports its changes, except for new organizations', async () => {
  const connection = { brokers: inject('kafkaBrokers').split(','), clientId: 'test' }
  const topic = `test-catalog-${randomUUID()}`
  await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions: 1 }))
  const start = async (forms: readonly object[]): Promise<readonly string[]> => {
    const lines: string[] = []
    const report = (line: string) => void lines.push(line)
    await applyToCatalog({
      connection,
      workspace: { organizations: [demo(forms)], contents: [] },
      secretKey: 'ab'.repeat(32),
      report,
      topic,
    })
    return lines
  }
  expect(await start([form])).toEqual([])
  expect(await start([form])).toEqual([])
  expect(await start([])).toEqual([
    '! The catalog differed from the workspace file. This start has changed it (add settings to keep to that file):',
    '    - demo/shop form nps',
  ])
  expect(await start([form])).toEqual([expect.any(String), '    + demo/shop form nps'])
})
