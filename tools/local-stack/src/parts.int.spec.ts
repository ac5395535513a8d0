import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { createLogAdmin } from '@nextvisit/log'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort, isPortFree, requirePort } from './free-port.ts'
import type { Part, PartOptions } from './part.ts'
import { startKafka } from './start-kafka.ts'
import { startPostgres } from './start-postgres.ts'
import { startRedis } from './start-redis.ts'
import { supervise } from './supervise.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function optionsOf(name: string): PartOptions {
  return { dataDirectory: path.join(folder, name), logFile: path.join(folder, `${name}.log`) }
}

/** Supervises a part on its first port, kills it, and returns it once a new process runs. */
async function killed<P extends Part>(name: string, start: (port?: number) => Promise<P>) {
  const reports: string[] = []
  let part: P | undefined
  const supervised = await supervise(name, async () => (part = await start(part?.port)), {
    report: (line) => reports.push(line),
  })
  const before = supervised.pid()
  return {
    part: () => part as P,
    stop: supervised.stop,
    killAndWait: async () => {
      supervised.kill('SIGKILL')
      await expect.poll(() => supervised.restarts(), { timeout: 30_000 }).toBe(1)
      expect(supervised.pid()).not.toBe(before)
      expect(reports).toEqual([`${name} ended (SIGKILL); restarting it`, `${name} runs again`])
    },
  }
}

describe('a killed part', () => {
  it('comes back as Kafka on the same port, with its topics', async () => {
    const { part, stop, killAndWait } = await killed('Kafka', (port) =>
      startKafka({ ...optionsOf('kafka'), ...(port && { port }) }),
    )
    const admin = createLogAdmin({ brokers: [part().brokers], clientId: 'test' })
    await admin.connect()
    await admin.createTopic('kept', { partitions: 3 })
    await killAndWait()
    await expect.poll(() => admin.partitionCount('kept').catch(() => 0), { timeout: 10_000 }).toBe(3)
    await admin.disconnect()
    await stop()
  })

  it('comes back as Postgres on the same port, with its rows', async () => {
    const { part, stop, killAndWait } = await killed('Postgres', (port) =>
      startPostgres({ ...optionsOf('postgres'), password: 'a:p@ss/word', ...(port && { port }) }),
    )
    await query(part().url, 'CREATE TABLE kept AS SELECT 1 AS n')
    await killAndWait()
    expect(await query(part().url, 'SELECT n FROM kept')).toEqual([{ n: 1 }])
    await stop()
  })

  it('comes back as Redis on the same port, with its keys', async () => {
    const { part, stop, killAndWait } = await killed('Redis', (port) =>
      startRedis({ ...optionsOf('redis'), ...(port && { port }) }),
    )
    const redis = new Redis(part().url).on('error', () => {}) // Redis is unavailable for a moment
    await redis.set('kept', 'yes')
    await new Promise((resolve) => setTimeout(resolve, 1_200)) // Redis syncs its log every second
    await killAndWait()
    expect(await redis.get('kept')).toBe('yes')
    redis.disconnect()
    await stop()
  })
})

describe('when the process that started a part ends', () => {
  it.each(['Kafka', 'Postgres', 'Redis'])('%s ends too, even after kill -9', async (part) => {
    const parent = await startInAnotherProcess(part, path.join(folder, `orphan-${part}`))
    expect(isRunning(parent.pid)).toBe(true)
    process.kill(parent.parentPid, 'SIGKILL')
    await expect.poll(() => isRunning(parent.pid), { timeout: 10_000 }).toBe(false)
  })
})

describe('two data folders at once', () => {
  it('have separate servers', async () => {
    const password = 'test'
    const [one, other] = await Promise.all([
      startPostgres({ ...optionsOf('one'), durable: false, password }),
      startPostgres({ ...optionsOf('other'), durable: false, password }),
    ])
    expect(one.port).not.toBe(other.port)
    await query(one.url, 'CREATE TABLE mine ()')
    expect(await query(other.url, `SELECT to_regclass('mine') AS found`)).toEqual([{ found: null }])
    await Promise.all([one.stop(), other.stop()])
    expect(existsSync(path.join(folder, 'one'))).toBe(false)
  })
})

describe('free ports', () => {
  it('are all different, although no process listens on them yet', async () => {
    const ports = await Promise.all(Array.from({ length: 1_000 }, freePort))
    expect(new Set(ports).size).toBe(ports.length)
  })
})

describe('a taken port', () => {
  it('is named in the error', async () => {
    const port = await freePort()
    const server = createServer().listen(port, '127.0.0.1')
    await once(server, 'listening')
    await expect(startRedis({ ...optionsOf('taken'), port })).rejects.toMatchObject({
      code: 'PORT_TAKEN',
      message: `Port ${port} is taken by another program.`,
    })
    server.close()
  })

  it('is not proposed, for the gateway or the console', async () => {
    const first = await freePort()
    const servers = [first, first + 1].map((port) => createServer().listen(port, '127.0.0.1'))
    await Promise.all(servers.map((server) => once(server, 'listening')))
    const error: unknown = await requirePort('GATEWAY_PORT', first).catch((thrown: unknown) => thrown)
    const proposed = Number(/GATEWAY_PORT=(\d+) /.exec(String(error))?.[1])
    expect(await isPortFree(proposed)).toBe(true)
    for (const server of servers) server.close()
  })
})

describe('Postgres', () => {
  it('runs in a folder that only its owner can access', async () => {
    const closed = path.join(folder, 'closed')
    await mkdir(closed, { mode: 0o700 })
    const options = { dataDirectory: path.join(closed, 'postgres'), logFile: path.join(closed, 'postgres.log') }
    const postgres = await startPostgres({ ...options, password: 'test' })
    expect(await query(postgres.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }])
    await postgres.stop()
  })

  it('creates its folder again after an interrupted first start', async () => {
    const options = optionsOf('cut-off')
    await mkdir(path.join(options.dataDirectory, 'cluster.unfinished', 'base'), { recursive: true })
    const postgres = await startPostgres({ ...options, durable: false, password: 'test' })
    expect(await query(postgres.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }])
    await postgres.stop()
  })
})

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client(url)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

async function startInAnotherProcess(part: string, dataDirectory: string): Promise<{ parentPid: number; pid: number }> {
  const module = path.join(import.meta.dirname, `start-${part.toLowerCase()}.ts`)
  const options = { dataDirectory, logFile: `${dataDirectory}.log`, password: 'test' }
  const code = `
    const { start${part} } = await import(${JSON.stringify(module)})
    console.log((await start${part}(${JSON.stringify(options)})).pid)
  `
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { parentPid: child.pid ?? 0, pid: Number(line) }
}

/** Returns whether a process runs. A zombie does not, but stays in the process table until its parent reaps it. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const status = `/proc/${pid}/status`
  return !existsSync(status) || !/^State:\s+Z/m.test(readFileSync(status, 'utf8'))
}
