import { startFaultProxy } from '@nextvisit/testing'
import { expect, it, onTestFinished } from 'vitest'
import { givenConnection, givenTopic } from '../../test/given-topic.ts'
import type { LogAdmin } from '../admin/log-admin.ts'
import { readWatermarks, withLogAdmin } from '../admin/with-log-admin.ts'
import { isLogUnavailable } from './kafkajs-errors.ts'

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

it.each([
  ['stops answering', 'black-hole'],
  ['closes its connections', 'refuse'],
] as const)('a log that %s during a query is unavailable', async (_, state) => {
  const topic = await givenTopic(1)
  const { proxy, connection } = await startFaultProxy(givenConnection())
  onTestFinished(() => proxy.stop())
  const ask = async (admin: LogAdmin) => {
    proxy.setLink(state)
    return admin.watermarks(topic)
  }
  const failure = await failureOf(withLogAdmin(connection, ask, { requestTimeoutMs: 200 }))
  expect(failure).toBeInstanceOf(Error)
  expect(isLogUnavailable(failure)).toBe(true)
})

it('a log that cannot be reached is unavailable, and one without the topic is not', async () => {
  const nowhere = { ...givenConnection(), brokers: ['127.0.0.1:1'] }
  expect(isLogUnavailable(await failureOf(readWatermarks(nowhere, 'any')))).toBe(true)
  expect(isLogUnavailable(await failureOf(readWatermarks(givenConnection(), 'log-spec.absent')))).toBe(false)
  expect(isLogUnavailable(new TypeError('a bug'))).toBe(false)
})
