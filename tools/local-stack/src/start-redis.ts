import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { cached } from './cached.ts'
import { IMAGES } from './container-images.ts'
import { containerPlan } from './container-plan.ts'
import { dockerAnswers } from './docker.ts'
import { StackError } from './errors.ts'
import { launchOnPort } from './free-port.ts'
import { copyArtifact, hasMaven, java17 } from './maven.ts'
import { startOwnedProcess, type ProcessPlan } from './owned-process.ts'
import { asPart, type Part, type PartOptions } from './part.ts'
import { readZipEntry } from './zip-entry.ts'

const run = promisify(execFile)
const READY = /Ready to accept connections/i
const EMBEDDED_REDIS = 'com.github.codemonstur:embedded-redis:1.4.4'

/** Names of the server in that jar, by platform. Its version is 6.2.11 on x64. */
const SERVER_IN_JAR = new Map([
  ['linux-x64', 'redis-server-6.2.6-v5-linux-amd64'],
  ['linux-arm64', 'redis-server-6.2.7-linux-arm64'],
  ['darwin-x64', 'redis-server-6.2.6-v5-darwin-amd64'],
  ['darwin-arm64', 'redis-server-6.2.6-v5-darwin-arm64'],
])

export interface Redis extends Part {
  readonly url: string
}

/**
 * Starts a real Redis on loopback: `redis-server` from the PATH, from a Maven jar, or as a container. Rejects with a
 * StackError that names the missing software if none is possible.
 */
export async function startRedis(options: PartOptions): Promise<Redis> {
  const server = await redisServer(options)
  const { port, launched } = await launchOnPort(options.port, async (free) =>
    startOwnedProcess(server === undefined ? redisContainer(free, options) : await redisHere(server, free, options)),
  )
  return { ...asPart('Redis', launched, port, options), url: `redis://127.0.0.1:${port}` }
}

/** Resolves to a server binary for this machine, or undefined if Redis must run as a container. */
async function redisServer(options: PartOptions): Promise<string | undefined> {
  if (await runs('redis-server')) return 'redis-server'
  const fromJar = await redisFromJar(options)
  if (fromJar !== undefined && (await runs(fromJar))) return fromJar
  if (await dockerAnswers()) return undefined
  throw new StackError(
    'REQUIREMENT_MISSING',
    'Redis needs redis-server, or Java 17 with Maven, or a running Docker engine, and this machine has none of them. Install one (Debian: apt install redis-server), or set REDIS_URL to use an existing Redis.',
  )
}

async function redisFromJar({ onWait }: PartOptions): Promise<string | undefined> {
  const name = SERVER_IN_JAR.get(`${process.platform}-${process.arch}`)
  if (name === undefined || !(await java17()) || !(await hasMaven())) return undefined
  const folder = await cached(`redis-${process.platform}-${process.arch}`, async (made) => {
    onWait?.('Downloading Redis (first start only)')
    await copyArtifact(EMBEDDED_REDIS, made)
    const jar = path.join(made, (await readdir(made))[0] ?? '')
    const server = readZipEntry(await readFile(jar), name)
    if (server === undefined) throw new StackError('DOWNLOAD_FAILED', `${EMBEDDED_REDIS} does not contain ${name}.`)
    await writeFile(path.join(made, 'redis-server'), server)
    await chmod(path.join(made, 'redis-server'), 0o755)
    await rm(jar)
  })
  return path.join(folder, 'redis-server')
}

async function runs(server: string): Promise<boolean> {
  return run(server, ['--version']).then(
    () => true,
    () => false,
  )
}

async function redisHere(server: string, port: number, options: PartOptions): Promise<ProcessPlan> {
  await mkdir(options.dataDirectory, { recursive: true })
  return {
    name: 'Redis',
    command: server,
    args: ['--port', String(port), '--bind', '127.0.0.1', '--dir', options.dataDirectory, ...persistence(options)],
    logFile: options.logFile,
    signal: options.signal,
    readyLine: READY,
  }
}

function redisContainer(port: number, options: PartOptions): ProcessPlan {
  return containerPlan({
    name: 'Redis',
    image: IMAGES.redis,
    dataDirectory: options.dataDirectory,
    volumePath: '/data',
    port: { host: port, container: 6379 },
    args: ['redis-server', ...persistence(options)],
    logFile: options.logFile,
    signal: options.signal,
    readyLine: READY,
  })
}

function persistence(options: PartOptions): string[] {
  return ['--save', '', '--appendonly', options.durable === false ? 'no' : 'yes']
}
