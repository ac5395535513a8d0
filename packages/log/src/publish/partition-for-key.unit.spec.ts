import { randomBytes, randomInt, randomUUID } from 'node:crypto'

import { Partitioners } from 'kafkajs'
import { describe, expect, it } from 'vitest'

import { partitionForKey } from './partition-for-key.ts'

const hash = (key: string): number => partitionForKey(key, 2 ** 31)

describe('partitionForKey', () => {
  it("agrees with kafkajs' default partitioner, so that other producers choose the same partitions", () => {
    const kafkajsPartition = Partitioners.DefaultPartitioner()
    const keys = [
      '',
      'é',
      '𝒳',
      ...Array.from({ length: 500 }, () => randomUUID()),
      ...Array.from({ length: 500 }, () => randomBytes(randomInt(1, 60)).toString('latin1')),
    ]
    for (const key of keys) {
      const partitionCount = randomInt(1, 100)
      const partitionMetadata = Array.from({ length: partitionCount }, (_, partitionId) => ({
        partitionId,
        partitionErrorCode: 0,
        leader: 1,
        replicas: [1],
        isr: [1],
      }))
      const message = { key: Buffer.from(key), value: '' }
      expect(partitionForKey(key, partitionCount)).toBe(kafkajsPartition({ topic: 'any', partitionMetadata, message }))
    }
  })

  it("agrees with the values in the Java client's own test", () => {
    expect(hash('21')).toBe(-973932308 & 0x7fffffff)
    expect(hash('foobar')).toBe(-790332482 & 0x7fffffff)
    expect(hash('a-little-bit-long-string')).toBe(-985981536 & 0x7fffffff)
    expect(hash('lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8')).toBe(-58897971 & 0x7fffffff)
  })
})
