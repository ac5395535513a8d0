import { describe, expect, it } from 'vitest'
import { createPartitionCounts } from './partition-counts.ts'

describe('partition counts', () => {
  it('are asked once and remembered, but not while Kafka does not answer or the topic is missing', async () => {
    const answers = [Promise.reject(new Error('socket')), Promise.resolve(0), Promise.resolve(12)]
    const countOf = createPartitionCounts({
      partitionCount: () => answers.shift() ?? Promise.reject(new Error('again')),
    })
    await expect(countOf('t')).rejects.toMatchObject({ code: 'LOG_AWAY', retryable: true })
    await expect(countOf('t')).rejects.toMatchObject({ code: 'TOPIC_MISSING', retryable: true })
    expect(await countOf('t')).toBe(12)
    expect(await countOf('t')).toBe(12)
  })
})
