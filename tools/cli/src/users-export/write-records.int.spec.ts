import { randomUUID } from 'node:crypto'
import { createPublisher, type LogConnection } from '@nextvisit/log'
import { publishCompressed } from '@nextvisit/log/test/publish-compressed.ts'
import { createTestTopic, PATIENT_REQUESTS } from '@nextvisit/testing'
import { expect, inject, it } from 'vitest'
import { createPersonWriter } from './person-writer.ts'
import { writeRecords } from './write-records.ts'

const userId = randomUUID()
const showContent = () => 'published' as const

async function written(connection: LogConnection, topic: string, userName: string | null = 'ada') {
  let text = ''
  const person = { organization: 'acme', project: 'shop', userName: userName ?? undefined, userId }
  const write = async (lines: string) => void (text += lines)
  const writer = createPersonWriter({ person, sources: [topic], exportedAt: '2026-11-02T10:00:00.000Z', write })
  const progress: number[][] = []
  const onProgress = (...numbers: number[]) => void progress.push(numbers)
  await writeRecords({ connection, topic, userId, showContent, writer, onProgress })
  return { lines: writer.lineCount(), missing: writer.missing(), text, progress }
}

async function publish(connection: LogConnection, topic: string, keys: readonly string[], value = '{}'): Promise<void> {
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  for (const key of keys)
    await publisher.publish({ topic, partition: 0, key, value, headers: {} }, performance.now() + 20_000)
  await publisher.stop(1_000)
}

it('reads to the end of the log, reports progress, and keeps only records with the key of the person', async () => {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'))
  await publish(connection, topic, [userId, 'another', `${userId}x`, userId])
  const { lines, missing, progress } = await written(connection, topic)
  expect([lines, missing, progress.at(-1)]).toEqual([2, [], [4, 4, 2]])
})

it('leaves out records of other projects, and those that name none while nothing shows that the person is of this one', async () => {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'))
  const others = [
    { organization: 'acme', project: 'blog' },
    { organization: 'other', project: 'shop' },
  ]
  for (const other of others) await publish(connection, topic, [userId], JSON.stringify(other))
  await publish(connection, topic, [userId], 'null')
  expect(await written(connection, topic, null)).toMatchObject({ lines: 0, missing: [], text: '' })
  await publish(connection, topic, [userId], JSON.stringify({ organization: 'acme', project: 'shop' }))
  await publish(connection, topic, [userId], 'no JSON')
  const { lines, missing, text } = await written(connection, topic, null)
  expect([lines, missing]).toEqual([2, [{ source: topic, reason: expect.stringContaining('name no project') }]])
  expect(text).not.toMatch(/blog|other/)
})

it('names a batch that cannot be decoded, which may hold records of the person, and continues after it', async () => {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'))
  await publish(connection, topic, [userId])
  await publishCompressed(connection, { topic, partition: 0 }, { records: 100_001 })
  await publish(connection, topic, [userId])
  const { lines, missing } = await written(connection, topic)
  expect(lines).toBe(2)
  expect(missing).toEqual([{ source: topic, reason: expect.stringContaining('offsets 1 to 100001') }])
})

it('names a topic that cannot be read', async () => {
  const { connection } = await createTestTopic(inject('kafkaBrokers'))
  const { lines, missing } = await written(connection, 'no-such-topic')
  expect([lines, missing]).toEqual([0, [{ source: 'no-such-topic', reason: expect.stringContaining('missing') }]])
})
