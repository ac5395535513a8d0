import { expect, it } from 'vitest'
import { createFoldedPartitions } from './folded-partitions.ts'

it('leaves out a partition until it has folded the log up to the end that it had when the process got it, each time again', async () => {
  const end = new Map([
    [0, 5n],
    [1, 0n],
  ])
  const folded = new Map([[0, 4n]])
  let reads = 0
  const foldedOf = createFoldedPartitions({
    readEnds: async () => {
      reads += 1
      return new Map(end)
    },
    readFolded: async () => {
      reads += 1
      return folded
    },
  })
  expect(await foldedOf([0, 1])).toEqual([1])
  end.set(0, 9n)
  folded.set(0, 5n)
  expect(await foldedOf([0, 1])).toEqual([0, 1])
  const before = reads
  expect([await foldedOf([0, 1]), reads]).toEqual([[0, 1], before])
  expect(await foldedOf([1])).toEqual([1])
  expect(await foldedOf([0, 1])).toEqual([1])
})
