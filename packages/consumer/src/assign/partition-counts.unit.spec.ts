import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPartitionCounts } from './partition-counts.ts'

const TWELVE = { keys: 12, inTopic: 12 }

/** Kafka answers with each of these in turn, then with the last again. */
function givenCounts(answers: readonly (number | Error)[], expected?: { keys: number; inTopic: number }) {
  let asked = 0
  const partitionCount = async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)]
    if (answer instanceof Error || answer === undefined) throw answer ?? new Error('no answer')
    return answer
  }
  return createPartitionCounts({ partitionCount }, expected)
}

describe('partition counts', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('are cached, except while Kafka does not answer or the topic is missing', async () => {
    const counts = givenCounts([new Error('socket'), 0, 12, 24])
    await expect(counts.keysOf('t')).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE', retryable: true })
    await expect(counts.keysOf('t')).rejects.toMatchObject({ code: 'TOPIC_MISSING', retryable: true })
    expect(await counts.keysOf('t')).toBe(12)
    expect(await counts.keysOf('t')).toBe(12)
  })

  it('are read once for concurrent callers', async () => {
    const counts = givenCounts([12, 24])
    expect(await Promise.all([counts.keysOf('t'), counts.keysOf('t')])).toEqual([12, 12])
  })

  it('are refused with the name of the runbook when they differ from the configuration, at once or later', async () => {
    const refusal = { code: 'PARTITIONS_CHANGED', message: expect.stringContaining('docs/runbooks/partitions.md') }
    await expect(givenCounts([24], TWELVE).keysOf('t')).rejects.toMatchObject(refusal)
    await expect(givenCounts([6], TWELVE).keysOf('t')).rejects.toMatchObject(refusal)
    for (const expected of [TWELVE, undefined]) {
      const counts = givenCounts([12, 24], expected)
      expect(await counts.keysOf('t')).toBe(12)
      vi.advanceTimersByTime(5_001)
      await expect(counts.keysOf('t')).rejects.toMatchObject(refusal)
    }
  })

  it('stay the same while Kafka does not answer', async () => {
    const counts = givenCounts([12, new Error('socket')])
    expect(await counts.keysOf('t')).toBe(12)
    vi.advanceTimersByTime(5_001)
    expect(await counts.keysOf('t')).toBe(12)
  })

  it('may exceed the partitions that keys use if an operator has confirmed it', async () => {
    const counts = givenCounts([24], { keys: 12, inTopic: 24 })
    expect(await counts.keysOf('t')).toBe(12)
    expect(await counts.changeOf('t', 23)).toBeUndefined()
  })

  it('refuse partitions that were added, even before they are counted, and all partitions if some are gone', async () => {
    const refused = { code: 'PARTITIONS_CHANGED' }
    for (const found of [12, 24]) {
      const counts = givenCounts([found], TWELVE)
      expect(await counts.changeOf('t', 11)).toBeUndefined()
      expect(await counts.changeOf('t', 12)).toMatchObject(refused)
    }
    expect(await givenCounts([6], TWELVE).changeOf('t', 0)).toMatchObject(refused)
  })
})
