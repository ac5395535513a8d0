import { Redis } from 'ioredis'
import { randomUUID } from 'node:crypto'
import net from 'node:net'
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { createLogger } from './logger.ts'
import { createRedis, createRedisSubscriber, type RedisConnection, subscribeTo } from './redis.ts'

/**
 * Starts a proxy in front of the real Redis. `freeze` drops all bytes and keeps accepting connections, like a stopped
 * process.
 */
async function startFreezableProxy(redisUrl: string) {
  const { hostname, port } = new URL(redisUrl)
  const sockets = new Set<net.Socket>()
  let isFrozen = false
  const server = net.createServer((downstream) => {
    const upstream = net.connect(Number(port), hostname)
    for (const [from, to] of [
      [downstream, upstream],
      [upstream, downstream],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => isFrozen || to.write(bytes))
      from.on('error', () => {})
      from.on('close', () => to.destroy())
    }
  })
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
  await listen(0)
  const own = (server.address() as net.AddressInfo).port
  const cut = () => sockets.forEach((socket) => socket.destroy())
  const close = () => {
    cut()
    server.close()
  }
  onTestFinished(close)
  return {
    url: `redis://127.0.0.1:${own}`,
    freeze: () => (isFrozen = true),
    thaw: () => (isFrozen = false),
    close,
    reopen: () => listen(own),
  }
}

type Proxy = Awaited<ReturnType<typeof startFreezableProxy>>

describe('a Redis connection', () => {
  let proxy: Proxy
  let logged: string[]
  const key = `service-kit-test-${randomUUID()}`

  beforeEach(async () => {
    proxy = await startFreezableProxy(inject('redisUrl'))
    logged = []
  })

  const givenLogger = () =>
    createLogger('spec', 'info', {
      write: (line: string) => void logged.push((JSON.parse(line) as { msg: string }).msg),
    })

  async function open(
    create: typeof createRedis,
    beforeStart: (client: Redis) => void = () => {},
  ): Promise<RedisConnection> {
    const connection = create({ url: proxy.url, name: 'spec', logger: givenLogger() })
    beforeStart(connection.client)
    await connection.start()
    onTestFinished(connection.stop)
    return connection
  }

  it('executes commands', async () => {
    const { client } = await open(createRedis)
    await client.set(key, 'kept', 'PX', 10_000)
    expect(await client.get(key)).toBe('kept')
  })

  it('fails commands at once while Redis is unavailable, logs the outage once, and reconnects', async () => {
    const { client } = await open(createRedis)
    proxy.close()
    await expect.poll(() => client.status).not.toBe('ready')
    await expect(client.get(key)).rejects.toThrow(/writeable|closed/)
    await proxy.reopen()
    await expect.poll(() => client.status, { timeout: 10_000 }).toBe('ready')
    await expect(client.get(key)).resolves.not.toThrow()
    expect(logged).toEqual(['Redis is unavailable; continuing without it', 'Redis is back'])
  })

  it('starts without Redis and connects later', async () => {
    proxy.close()
    const { client } = await open(createRedis)
    await expect(client.get(key)).rejects.toThrow(/writeable|closed/)
    await proxy.reopen()
    await expect.poll(() => client.status, { timeout: 10_000 }).toBe('ready')
  })

  it('fails a command to a frozen Redis after its timeout', async () => {
    const { client } = await open(createRedis)
    proxy.freeze()
    await expect(client.incr(key)).rejects.toThrow('Command timed out')
    // And on the connection, which may be dead for good.
    await expect.poll(() => client.status, { timeout: 10_000 }).not.toBe('ready')
    proxy.thaw()
    await expect.poll(() => client.status, { timeout: 10_000 }).toBe('ready')
  })

  it('does not repeat a command that the lost connection may have sent', async () => {
    const { client } = await open(createRedis)
    const direct = new Redis(inject('redisUrl'))
    onTestFinished(() => direct.disconnect())
    const counter = `${key}-counter`
    await direct.set(counter, 0, 'PX', 30_000)
    proxy.freeze()
    await expect(client.incr(counter)).rejects.toThrow('Command timed out')
    await expect.poll(() => client.status, { timeout: 10_000 }).not.toBe('ready')
    proxy.thaw()
    await expect.poll(() => client.status, { timeout: 10_000 }).toBe('ready')
    expect(await client.get(counter)).toBe('0')
  })

  /** Messages that a subscriber receives on a channel, with the number of deliveries. */
  async function hear() {
    const channel = `${key}-${randomUUID()}`
    const heard: string[] = []
    const onMessage = (message: string) => void heard.push(message)
    const { client } = await open(createRedisSubscriber, (subscriber) =>
      subscribeTo(subscriber, { channel, schema: z.string(), onMessage, warning: 'deaf', logger: givenLogger() }),
    )
    const direct = new Redis(inject('redisUrl'))
    onTestFinished(() => direct.disconnect())
    const publish = () => direct.publish(channel, '"hello"')
    await expect.poll(publish, { timeout: 10_000 }).toBe(1)
    return { client, heard, publish }
  }

  it('notices a frozen Redis while it only subscribes, and subscribes again afterwards', async () => {
    const { client, heard, publish } = await hear()
    proxy.freeze()
    await expect.poll(() => client.status, { timeout: 10_000 }).not.toBe('ready')
    proxy.thaw()
    await expect.poll(() => client.status, { timeout: 10_000 }).toBe('ready')
    heard.length = 0
    await expect.poll(publish, { timeout: 10_000 }).toBe(1)
    await expect.poll(() => heard).toContain('hello')
  })

  it('recovers if Redis freezes right after the reconnect', async () => {
    const { client, publish } = await hear()
    client.once('ready', proxy.freeze)
    client.disconnect(true)
    // An error that nobody handles would end the process, and fails this run.
    await expect.poll(() => logged, { timeout: 10_000 }).toContain('deaf')
    proxy.thaw()
    await expect.poll(publish, { timeout: 10_000 }).toBe(1)
  })
})

it('a password of Redis can be replaced while processes connect again and again (rotate-secrets.md)', async () => {
  const admin = new Redis(inject('redisUrl'))
  onTestFinished(() => admin.disconnect())
  const user = `spec-${randomUUID()}`
  const connects = async (password: string) => {
    const url = Object.assign(new URL(inject('redisUrl')), { username: user, password }).href
    const own = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
    own.on('error', () => {})
    try {
      await own.connect()
      return (await own.ping()) === 'PONG'
    } catch {
      return false
    } finally {
      own.disconnect()
    }
  }
  await admin.call('ACL', 'SETUSER', user, 'on', '>old', '+@all')
  expect(await connects('old')).toBe(true)
  await admin.call('ACL', 'SETUSER', user, '>new')
  expect([await connects('old'), await connects('new')]).toEqual([true, true])
  await admin.call('ACL', 'SETUSER', user, '<old')
  expect([await connects('old'), await connects('new')]).toEqual([false, true])
  await admin.call('ACL', 'DELUSER', user)
})
