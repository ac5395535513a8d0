import { expect, it, onTestFinished } from 'vitest'
import { givenFaultProxy, givenTopic } from '../../test/given-topic.ts'
import { createCluster } from './cluster.ts'
import { silentLogger } from './kafka-client.ts'

const METADATA_API_KEY = 3

it('callers that refresh the metadata at the same time share one request', async () => {
  const topic = await givenTopic(1)
  const { proxy, connection } = await givenFaultProxy()
  const timeouts = { connectTimeoutMs: 3_000, requestTimeoutMs: 5_000 }
  const cluster = createCluster(connection, { ...timeouts, retry: { retries: 2 }, logger: silentLogger })
  onTestFinished(() => cluster.close(new Error('The spec has ended')))
  await cluster.connect([topic])
  let requests = 0
  proxy.onResponse(({ apiKey }) => {
    if (apiKey === METADATA_API_KEY) requests += 1
    return 'pass'
  })
  await Promise.all(Array.from({ length: 48 }, () => cluster.refreshMetadata()))
  expect(requests).toBe(1)
  await cluster.refreshMetadata()
  expect(requests).toBe(2)
})
