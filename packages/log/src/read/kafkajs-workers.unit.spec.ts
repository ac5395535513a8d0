import createWorker from 'kafkajs/src/consumer/worker.js'
import createWorkerQueue from 'kafkajs/src/consumer/workerQueue.js'
import { expect, it } from 'vitest'

/** The workers of a consumer, which of them were asked for work, and the batches that they handle. */
function givenWorkers(count: number) {
  const asked: number[] = []
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const handler = (batch: string): Promise<void> => {
    begun.push(batch)
    return new Promise((resolve) => ends.set(batch, resolve))
  }
  const workers = Array.from({ length: count }, (_, workerId) => {
    const worker = createWorker({ handler, workerId })
    const run: typeof worker.run = (source) => {
      asked.push(workerId)
      return worker.run(source)
    }
    return { ...worker, run }
  })
  return { queue: createWorkerQueue({ workers }), asked, begun, end: (batch: string) => ends.get(batch)?.() }
}

it('a fetch asks as many workers as it has batches (infra/patches)', async () => {
  const { queue, asked, begun, end } = givenWorkers(64)
  const handled = queue.push('a', 'b')
  expect(begun).toEqual(['a', 'b'])
  expect(asked).toEqual([0, 1])
  for (const batch of begun) end(batch)
  await handled
})

it('a batch goes to a worker that is free, and waits where none is', async () => {
  const { queue, begun, end } = givenWorkers(2)
  const first = queue.push('a')
  const second = queue.push('b', 'c')
  expect(begun).toEqual(['a', 'b'])
  end('a')
  await first
  await expect.poll(() => begun).toEqual(['a', 'b', 'c'])
  end('b')
  end('c')
  await second
})
