import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPartitionCounts } from './partition-counts.ts'

const TWELVE = { keyPartitions: 12, inTopic: 12 }

/** Counts partitions of a Kafka that gives each of these answers in turn, then the last again. */
function givenCounts(
  answers: readonly (number | Error)[],
  expected?: { keyPartitions: number; inTopic: number },
  readFolded: () => Promise<readonly number[]> = async () => [],
) {
  let asked = 0
  const partitionCount = async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)]
    if (answer instanceof Error || answer === undefined) throw answer ?? new Error('no answer')
    return answer
  }
  return { ...createPartitionCounts({ partitionCount }, expected, readFolded), asked: () => asked }
}

describe('partition counts', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('are cached, except while Kafka does not answer or the topic is missing', async () => {
    const counts = givenCounts([new Error('socket'), 0, 12, 24])
    await expect(counts.keyPartitionsOf('t')).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE', retryable: true })
    await expect(counts.keyPartitionsOf('t')).rejects.toMatchObject({ code: 'TOPIC_MISSING', retryable: true })
    expect(await counts.keyPartitionsOf('t')).toBe(12)
    expect(await counts.keyPartitionsOf('t')).toBe(12)
  })

  it('are read once for concurrent callers', async () => {
    const counts = givenCounts([12, 24])
    expect(await Promise.all([counts.keyPartitionsOf('t'), counts.keyPartitionsOf('t')])).toEqual([12, 12])
  })

  it('are refused with the name of the runbook when they differ from the configuration, at once or later', async () => {
    const refusal = { code: 'PARTITIONS_CHANGED', message: expect.stringContaining('docs/runbooks/partitions.md') }
    await expect(givenCounts([24], TWELVE).keyPartitionsOf('t')).rejects.toMatchObject(refusal)
    await expect(givenCounts([6], TWELVE).keyPartitionsOf('t')).rejects.toMatchObject(refusal)
    for (const expected of [TWELVE, undefined]) {
      const counts = givenCounts([12, 24], expected)
      expect(await counts.keyPartitionsOf('t')).toBe(12)
      vi.advanceTimersByTime(5_001)
      await expect(counts.keyPartitionsOf('t')).rejects.toMatchObject(refusal)
    }
  })

  it('stay the same while Kafka does not answer', async () => {
    const counts = givenCounts([12, new Error('socket')])
    expect(await counts.keyPartitionsOf('t')).toBe(12)
    vi.advanceTimersByTime(5_001)
    expect(await counts.keyPartitionsOf('t')).toBe(12)
  })

  it('of the log alone do not wait for the checkpoints, and ask Kafka no second time', async () => {
    const folded = Promise.withResolvers<readonly number[]>()
    const counts = givenCounts([12], TWELVE, () => folded.promise)
    const change = counts.changeOf('t', 0)
    expect(await counts.keyPartitionsInLog('t')).toBe(12)
    folded.resolve([6])
    expect(await change).toMatchObject({ code: 'PARTITIONS_CHANGED' })
    await expect(counts.keyPartitionsOf('t')).rejects.toMatchObject({ code: 'PARTITIONS_CHANGED' })
    expect(await counts.keyPartitionsInLog('t')).toBe(12)
    expect(counts.asked()).toBe(1)
  })

  it('may exceed the partitions that keys use if an operator has confirmed it', async () => {
    const counts = givenCounts([24], { keyPartitions: 12, inTopic: 24 })
    expect(await counts.keyPartitionsOf('t')).toBe(12)
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

  it('are 1 for a topic with one order, whatever is expected of the others', async () => {
    const counts = givenCounts([1], TWELVE, async () => [12])
    expect(await counts.keyPartitionsOf('erasures')).toBe(1)
    expect(await counts.changeOf('erasures', 0)).toBeUndefined()
    expect(await counts.changeOf('erasures', 1)).toMatchObject({ code: 'PARTITIONS_CHANGED' })
    await expect(counts.keyPartitionsOf('t')).rejects.toMatchObject({ code: 'PARTITIONS_CHANGED' })
  })
})
