import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CallTable, defineCall } from '@nextvisit/contracts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { givenInternalServer } from '../test/given-internal-server.ts'
import { createAddresses } from './addresses.ts'
import { createCallClient, serveCalls } from './calls.ts'
import { createInternalClient } from './internal-client.ts'
import type { InternalServerOptions } from './internal-server.ts'

const SOON = { timeout: 20_000 }
const TOKEN = 'a token of some length'
const calls = {
  whoAmI: defineCall({ path: '/internal/who', question: z.object({}), answer: z.object({ host: z.string() }) }),
} satisfies CallTable

/** A process of the service on this loopback address. */
function startOn(host: string, port: number, own: Partial<InternalServerOptions> = {}) {
  const routes = serveCalls(calls, { whoAmI: async () => ({ host }) })
  return givenInternalServer({ host, port, token: TOKEN, routes, drainWithinMs: 2_500, ...own })
}

/** A service whose name has these addresses, in a list that the test changes. */
async function givenService(...hosts: readonly string[]) {
  const first = await startOn('127.0.0.1', 0)
  const { port } = first
  const known = { hosts }
  const addresses = createAddresses([`dns+http://metering:${port}`], {
    lookUpEveryMs: 20,
    lookUp: async () => known.hosts,
  })
  onTestFinished(addresses.stop)
  const { whoAmI } = createCallClient(calls, createInternalClient({ addresses, token: TOKEN, timeoutMs: 20_000 }))
  return { first, port, known, addresses, whoAmI }
}

describe('calls to a name', () => {
  it('are all answered while processes appear, stop and vanish', async () => {
    const { first, port, known, whoAmI } = await givenService('127.0.0.1')
    const failures: unknown[] = []
    const answeredBy = new Set<string>()
    const over = new AbortController()
    const callers = Array.from({ length: 8 }, async () => {
      while (!over.signal.aborted) {
        const asked = await whoAmI({})
        if (asked.outcome === 'answered') answeredBy.add(asked.answer.host)
        else failures.push(asked)
      }
    })
    const isAnsweredBy = (host: string) => expect.poll(() => answeredBy.has(host), SOON).toBe(true)
    await isAnsweredBy('127.0.0.1')
    const second = await startOn('127.0.0.2', port)
    known.hosts = ['127.0.0.1', '127.0.0.2']
    await sleep(50)
    // It is gone before its name is.
    await first.stop()
    await isAnsweredBy('127.0.0.2')
    await startOn('127.0.0.3', port)
    // Its name is gone before it is.
    known.hosts = ['127.0.0.3']
    await isAnsweredBy('127.0.0.3')
    await second.stop()
    over.abort()
    await Promise.all(callers)
    expect(failures).toEqual([])
  })

  it('go on to another process while one starts', async () => {
    const { first, port, known, whoAmI } = await givenService('127.0.0.1', '127.0.0.2')
    let hasStarted = false
    await startOn('127.0.0.2', port, { takesCalls: () => hasStarted })
    for (let round = 0; round < 3; round += 1)
      expect(await whoAmI({})).toEqual({ outcome: 'answered', answer: { host: '127.0.0.1' } })
    known.hosts = ['127.0.0.2']
    await first.stop()
    await expect.poll(() => whoAmI({}), SOON).toMatchObject({ cause: { message: 'The service is not ready.' } })
    hasStarted = true
    expect(await whoAmI({})).toEqual({ outcome: 'answered', answer: { host: '127.0.0.2' } })
  })

  it('find a new process at once, though no look-up is due', async () => {
    const { first, port, known } = await givenService('127.0.0.1')
    const addresses = createAddresses([`dns+http://metering:${port}`], {
      lookUpEveryMs: 60_000,
      lookUp: async () => known.hosts,
    })
    onTestFinished(addresses.stop)
    const { whoAmI } = createCallClient(calls, createInternalClient({ addresses, token: TOKEN, timeoutMs: 20_000 }))
    expect(await whoAmI({}), 'without any address yet').toMatchObject({ answer: { host: '127.0.0.1' } })
    await startOn('127.0.0.2', port)
    await first.stop()
    known.hosts = ['127.0.0.2']
    await expect.poll(() => whoAmI({}), SOON).toMatchObject({ answer: { host: '127.0.0.2' } })
  })

  it('wait for the first address as long as they have time', async () => {
    const { port } = await givenService()
    const slowly = createAddresses([`dns+http://metering:${port}`], { lookUp: () => sleep(600, ['127.0.0.1']) })
    onTestFinished(slowly.stop)
    const { whoAmI } = createCallClient(
      calls,
      createInternalClient({ addresses: slowly, token: TOKEN, timeoutMs: 20_000 }),
    )
    expect(await whoAmI({}, { deadlineAt: performance.now() + 50 }), 'too late').toMatchObject({
      outcome: 'unavailable',
    })
    expect(await whoAmI({})).toEqual({ outcome: 'answered', answer: { host: '127.0.0.1' } })
  })

  it('are unavailable while the name has no address, as with a dead process', async () => {
    const { whoAmI } = await givenService()
    const asked = await whoAmI({})
    expect(asked).toMatchObject({ outcome: 'unavailable', cause: { message: 'No address of the service is known.' } })
  })

  it('leave no connection open to an address that vanished', async () => {
    const { port, known, whoAmI } = await givenService('127.0.0.2')
    const server = createServer((_request, response) => response.end('{"host":"127.0.0.2"}'))
    server.listen(port, '127.0.0.2')
    await once(server, 'listening')
    onTestFinished(() => server.close().closeAllConnections())
    const countConnections = () =>
      new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
    await expect.poll(() => whoAmI({}), SOON).toMatchObject({ answer: { host: '127.0.0.2' } })
    expect(await countConnections()).toBe(1)
    known.hosts = ['127.0.0.1']
    await expect.poll(() => whoAmI({}), SOON).toMatchObject({ answer: { host: '127.0.0.1' } })
    await expect.poll(countConnections, SOON).toBe(0)
    expect((server.address() as AddressInfo).port).toBe(port)
  })
})

it('a name is looked up as by other programs, and a process with addresses of both kinds counts once', async () => {
  const addresses = createAddresses(['dns+http://localhost:9100'])
  onTestFinished(addresses.stop)
  expect(await addresses.each()).toEqual(['http://127.0.0.1:9100'])
})
