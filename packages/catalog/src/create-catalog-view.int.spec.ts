import type { LogConnection } from '@nextvisit/log'
import { createFaultProxy, createTestTopic } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { createCatalogView } from './create-catalog-view.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} }

it('sees the end of the catalog again and again on one connection, and on a new one after a cut', async () => {
  const { connection, topic } = await createTestTopic(inject('kafkaBrokers'))
  const [host = '', port] = (connection.brokers[0] ?? '').split(':')
  const proxy = createFaultProxy({ host, port: Number(port) })
  await proxy.start()
  onTestFinished(() => proxy.stop())
  let opened = 0
  const addressFor: LogConnection['addressFor'] = () => {
    opened += 1
    return proxy.addressFor()
  }
  const options = { serviceName: 'spec', logger: silent, topic, currentEveryMs: 1 }
  const view = createCatalogView({ ...connection, addressFor }, options)
  await view.start()
  onTestFinished(view.stop)
  const becomesCurrent = async (times: number): Promise<void> => {
    for (let seen = 0; seen < times; seen += 1) {
      const before = view.currentAsOfMs()
      await vi.waitFor(() => expect(view.currentAsOfMs()).toBeGreaterThan(before), { timeout: 30_000, interval: 1 })
    }
  }
  await becomesCurrent(5)
  const openedAtFirst = opened
  await becomesCurrent(20)
  expect(opened - openedAtFirst).toBeLessThan(10)
  proxy.cutAll()
  await becomesCurrent(2)
  expect(opened).toBeGreaterThan(openedAtFirst)
})
