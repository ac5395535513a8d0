import { randomUUID } from 'node:crypto'
import { expect, inject, it } from 'vitest'
import { withLogAdmin } from './with-log-admin.ts'

it('changes settings of a topic, keeps the others, and says whether it had them', async () => {
  const connection = { brokers: inject('kafkaBrokers').split(','), clientId: 'test' }
  const topic = `settings.${randomUUID()}`
  const settings = { 'cleanup.policy': 'compact', 'segment.ms': '60000' }
  await withLogAdmin(connection, async (admin) => {
    await admin.createTopic(topic, { partitions: 1, config: { ...settings, 'retention.ms': '-1' } })
    expect(await admin.changeTopic(topic, settings)).toBe(false)
    expect(await admin.changeTopic(topic, { ...settings, 'segment.ms': '2500' })).toBe(true)
    const [state] = await admin.describeTopics([topic])
    expect(Object.fromEntries(state?.config ?? [])).toMatchObject({
      'cleanup.policy': 'compact',
      'segment.ms': '2500',
      'retention.ms': '-1',
    })
  })
})
