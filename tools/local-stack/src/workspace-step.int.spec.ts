import { randomUUID } from 'node:crypto'
import { OrganizationConfig } from '@nextvisit/contracts'
import { withLogAdmin } from '@nextvisit/log'
import { expect, inject, it } from 'vitest'
import { applyOrganizations } from './workspace-step.ts'

const form = { id: 'nps', triggers: [{ visit: {} }] }
const demo = (forms: readonly object[]) => OrganizationConfig.parse({ id: 'demo', projects: [{ id: 'shop', forms }] })

it('says what a start replaces, and nothing where it replaces nothing', async () => {
  const connection = { brokers: inject('kafkaBrokers').split(','), clientId: 'test' }
  const topic = `test-catalog-${randomUUID()}`
  await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions: 1 }))
  const start = async (forms: readonly object[]): Promise<readonly string[]> => {
    const lines: string[] = []
    const report = (line: string) => void lines.push(line)
    await applyOrganizations({ connection, organizations: [demo(forms)], secretKey: 'ab'.repeat(32), report, topic })
    return lines
  }
  expect(await start([form])).toEqual([])
  expect(await start([form])).toEqual([])
  expect(await start([])).toEqual([
    '! The workspace file was applied again. It replaced what was applied since the last start:',
    expect.stringMatching(/^ {4}- .*nps/),
  ])
})
