import { createTestTopic, listOffsetsApiKey, startFaultProxy } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { followTopic } from './follow-topic.ts'

describe('following a topic', () => {
  it('ends immediately when aborted, even while a broker withholds its answer', async () => {
    const brokers = inject('kafkaBrokers')
    const { topic, connection } = await createTestTopic(brokers)
    const { proxy, connection: proxied } = await startFaultProxy(connection)
    onTestFinished(proxy.stop)
    const held = Promise.withResolvers<void>()
    proxy.onResponse(({ apiKey }) => {
      if (apiKey !== listOffsetsApiKey) return 'pass'
      held.resolve()
      return 'lose'
    })
    const abort = new AbortController()
    const reports: boolean[] = []
    const following = followTopic({
      connection: proxied,
      topic,
      newest: 1,
      onRecords: () => undefined,
      onCurrent: () => undefined,
      onLog: (isThere) => reports.push(isThere),
      signal: abort.signal,
    })
    await held.promise
    abort.abort()
    await following
    // The query has neither failed nor been answered, so nothing waited for it.
    expect(reports).toEqual([])
  })
})
