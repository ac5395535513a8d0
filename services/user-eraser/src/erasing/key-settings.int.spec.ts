import { randomUUID } from 'node:crypto'
import { createLogAdmin, TopicMissingError } from '@nextvisit/log'
import { createTestTopic } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { readKeySettings } from './key-settings.ts'

const WEEK_MS = 604_800_000
const KAFKAS_DEFAULTS = { segmentMs: WEEK_MS, deleteFilesAfterMs: 60_000 }

/** A topic with these settings, and the reader of them. */
async function givenSettings(settings: Readonly<Record<string, string>> = {}) {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'), { name: 'user-keys' })
  const logAdmin = createLogAdmin(connection)
  await logAdmin.connect()
  onTestFinished(logAdmin.disconnect)
  const change = (changed: Readonly<Record<string, string>>) => logAdmin.changeTopic(topic, changed)
  if (Object.keys(settings).length > 0) await change(settings)
  return { logAdmin, change, read: readKeySettings(logAdmin, topic) }
}

describe('the settings of the topic of keys', () => {
  it.each([
    ['those of Kafka for a topic without settings', {}, KAFKAS_DEFAULTS],
    ['its own', { 'segment.ms': '6000', 'file.delete.delay.ms': '100' }, { segmentMs: 6_000, deleteFilesAfterMs: 100 }],
    [
      'the shorter time until a segment is compacted',
      { 'segment.ms': '6000', 'max.compaction.lag.ms': '5000' },
      { ...KAFKAS_DEFAULTS, segmentMs: 5_000 },
    ],
    [
      'the time until a segment is closed, if a longer one may pass until it is compacted',
      { 'segment.ms': '6000', 'max.compaction.lag.ms': '7000' },
      { ...KAFKAS_DEFAULTS, segmentMs: 6_000 },
    ],
  ])('are %s', async (_which, settings, expected) => {
    const { read } = await givenSettings(settings)
    expect(await read()).toEqual(expected)
  })

  it('are those of Kafka if the broker does not tell them', async () => {
    const read = readKeySettings({ describeTopics: async () => [{ topic: 't', replicas: 1, config: new Map() }] }, 't')
    expect(await read()).toEqual(KAFKAS_DEFAULTS)
  })

  it('are read again after a minute, so that a changed retention needs no restart', async () => {
    const { read, change } = await givenSettings({ 'segment.ms': '6000' })
    let laterMs = 0
    const now = performance.now.bind(performance)
    const monotonic = vi.spyOn(performance, 'now').mockImplementation(() => now() + laterMs)
    onTestFinished(() => monotonic.mockRestore())
    expect(await read()).toMatchObject({ segmentMs: 6_000 })
    await change({ 'segment.ms': '7000' })
    laterMs = 30_000
    expect(await read()).toMatchObject({ segmentMs: 6_000 })
    laterMs = 61_000
    expect(await read()).toMatchObject({ segmentMs: 7_000 })
  })

  it('are none of a missing topic, until it is created', async () => {
    const { logAdmin } = await givenSettings()
    const topic = `user-keys.${randomUUID()}`
    const read = readKeySettings(logAdmin, topic)
    await expect(read()).rejects.toThrow(TopicMissingError)
    await logAdmin.createTopic(topic, { partitions: 1 })
    expect(await read()).toEqual(KAFKAS_DEFAULTS)
  })
})
