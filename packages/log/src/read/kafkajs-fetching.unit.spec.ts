import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel } from 'kafkajs'
import createFetchManager from 'kafkajs/src/consumer/fetchManager.js'
import { expect, it } from 'vitest'

/** A consumer that never ends would fetch without a pause, so that no timer of the spec fires. */
const TOO_MANY_FETCHES = 1_000

it('a consumer that stops while its brokers change ends its fetches (infra/patches)', async () => {
  let [isRunning, fetches] = [true, 0]
  let brokers = ['1', '2']
  const ofSecond = Promise.withResolvers<readonly unknown[]>()
  const manager = createFetchManager({
    logger: new Kafka({ brokers: ['127.0.0.1:1'], logLevel: logLevel.NOTHING }).logger(),
    getNodeIds: () => brokers,
    fetch: async (broker) => {
      if ((fetches += 1) > TOO_MANY_FETCHES) throw new Error('It fetches for ever')
      if (broker === '2') return ofSecond.promise
      // What it finds once it is stopped needs no time.
      if (isRunning) await setImmediate()
      brokers = ['1']
      return []
    },
    handler: async () => {},
    isRunning: () => isRunning,
  })
  const ended = manager.start()
  await sleep(20) // the fetchers are to be replaced as soon as the second broker answers
  isRunning = false
  const stopped = manager.stop()
  ofSecond.resolve([])
  await Promise.all([ended, stopped])
  expect(fetches).toBe(2)
})
