import { createPublisher, withLogAdmin } from '@nextvisit/log'
import { createTestTopic, PATIENT_REQUESTS } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { createReadIfGrown } from './read-if-grown.ts'

it('readIfGrown reads a topic once, and again when it has grown', async () => {
  const { connection, topic } = await createTestTopic(inject('kafkaBrokers'))
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))
  let reads = 0
  const readIfGrown = createReadIfGrown(topic, async () => (reads += 1))
  await withLogAdmin(connection, async (admin) => {
    expect(await readIfGrown(admin)).toBe(1)
    expect(await readIfGrown(admin)).toBe(1)
    const record = { topic, partition: 0, key: 'one', value: 'one', headers: {} }
    expect(await publisher.publish(record, performance.now() + 30_000)).toMatchObject({ outcome: 'published' })
    expect(await readIfGrown(admin)).toBe(2)
    expect(await readIfGrown(admin)).toBe(2)
  })
})
