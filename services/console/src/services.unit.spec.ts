import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CALLS } from '@nextvisit/contracts'
import { createAddresses } from '@nextvisit/service-kit'
import { expect, it, onTestFinished } from 'vitest'
import { createServices, type ServiceAddresses } from './services.ts'

/** Starts a service that refuses every call. Returns its address, and the times in ms that callers wait, by path. */
async function givenService() {
  const waitsMs = new Map<string, number>()
  const server = createServer(({ url = '', headers }, response) => {
    waitsMs.set(url, Number(headers['x-deadline-ms']))
    response.writeHead(500).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, waitsMs }
}

it('every process of a consumer is known by the name of the service, and only those that exist', async () => {
  const addresses = new Map(Object.keys(CALLS).map((name) => [name, createAddresses([])]))
  let hosts = ['10.0.0.1']
  const lookUp = async () => hosts
  const metering = createAddresses(['dns+http://metering:9100'], { lookUpEveryMs: 5, lookUp })
  onTestFinished(metering.stop)
  const services = createServices(
    Object.fromEntries(addresses.set('metering', metering)) as ServiceAddresses,
    'a-token',
  )
  const urls = async () => (await services.processes()).map(({ service, url }) => `${service} ${url}`).toSorted()
  expect(await urls()).toEqual(['metering http://10.0.0.1:9100'])
  hosts = ['10.0.0.1', '10.0.0.2']
  await expect.poll(urls).toEqual(['metering http://10.0.0.1:9100', 'metering http://10.0.0.2:9100'])
  hosts = ['10.0.0.2']
  await expect.poll(urls).toEqual(['metering http://10.0.0.2:9100'])
})

it('a page waits three seconds for a service, and a change ten', async () => {
  const { url, waitsMs } = await givenService()
  const addresses = Object.fromEntries(Object.keys(CALLS).map((name) => [name, createAddresses([url])]))
  const services = createServices(addresses as ServiceAddresses, 'a-token')
  const { gateway, collector } = services
  const user = { organization: 'acme', project: 'shop', userId: randomUUID() }
  const { userId, ...project } = user
  await gateway.readKnownErasures({ ...project, userIds: [userId] })
  await gateway.readSuppressions({ ...project, limit: 10 })
  await collector.readFormFunnels({ ...project, environment: 'P', limit: 100 })
  const reads = [...waitsMs.values()]
  expect(reads).toHaveLength(3)
  expect(Math.max(...reads)).toBeLessThanOrEqual(3_000)
  await gateway.liftSuppression(user)
  expect([...waitsMs.values()].at(-1)).toBeGreaterThan(3_000)
})
