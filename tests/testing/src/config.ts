import { existsSync } from 'node:fs'
import path from 'node:path'

interface TestConfig {
  /** Source of the specs' Kafka, Postgres and Redis. `auto`: containers if an engine has the images, else local processes. */
  readonly parts: 'auto' | 'docker' | 'local'
  /** Address of a running part. If set, the specs use it and start none. */
  readonly kafkaBrokers: string | undefined
  readonly databaseUrl: string | undefined
  readonly redisUrl: string | undefined
}

export function readTestConfig(): TestConfig {
  const parts = process.env['NEXTVISIT_TEST_PARTS'] ?? 'auto'
  if (parts !== 'auto' && parts !== 'docker' && parts !== 'local') {
    throw new RangeError(`NEXTVISIT_TEST_PARTS is ${parts}; it must be auto, docker or local.`)
  }
  return {
    parts,
    kafkaBrokers: given('KAFKA_BROKERS'),
    databaseUrl: given('DATABASE_URL'),
    redisUrl: given('REDIS_URL'),
  }
}

/**
 * Makes testcontainers connect to loopback. On a machine with /.dockerenv, it assumes that it runs in a container, and
 * connects to the bridge's gateway, but published ports may only listen on loopback. Call it before the import of testcontainers.
 */
export function dialContainersOnLoopback(): void {
  if (existsSync('/.dockerenv')) process.env['TESTCONTAINERS_HOST_OVERRIDE'] ??= 'localhost'
}

/** Lets Node cache compiled code in this folder, because the specs start hundreds of processes. */
export function keepCompiledCode(folder: string): void {
  process.env['NODE_COMPILE_CACHE'] ??= folder
}

/** Returns the folder of {@link keepCompiledCode} for a process that otherwise inherits no variable: it starts in half the CPU time. */
export function compiledCode(): Readonly<Record<string, string>> {
  const folder = given('NODE_COMPILE_CACHE')
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder }
}

/** Quarters the garbage collections of the Go programs that check lint and types. The largest then takes 2 GB of memory. */
export function collectLessInGo(): void {
  process.env['GOGC'] ??= '400'
}

function given(name: string): string | undefined {
  const value = process.env[name]
  return value === '' ? undefined : value
}

/**
 * Reads the settings of a property test: its number of cases, and the failure that it repeats, from `NEXTVISIT_PROPERTY_RUNS`
 * and fast-check's `_SEED`, `_PATH` and `_REPLAY_PATH`. `usualRuns` is the default number of cases.
 */
export function readPropertySettings(usualRuns: number) {
  const runs = Number(given('NEXTVISIT_PROPERTY_RUNS') ?? usualRuns)
  const seed = given('NEXTVISIT_PROPERTY_SEED')
  const pathOfFailure = given('NEXTVISIT_PROPERTY_PATH')
  const replayPath = given('NEXTVISIT_PROPERTY_REPLAY_PATH')
  const replay: { readonly seed?: number; readonly path?: string } = {
    ...(seed && { seed: Number(seed) }),
    ...(pathOfFailure && { path: pathOfFailure }),
  }
  const replayCommands: { readonly replayPath?: string } = replayPath ? { replayPath } : {}
  return { runs, withinMs: Math.max(60_000, runs * 10_000), replay, replayCommands }
}

/** Reads `NEXTVISIT_TEST_BROWSER`: the path of a Chromium, or `packaged` for the Chromium of an npm package. */
export function chosenBrowser(): string | undefined {
  return given('NEXTVISIT_TEST_BROWSER')
}

/** Finds the first installed Chromium or Chrome in the usual places. */
export function browserOnThisMachine(): string | undefined {
  const names = ['chromium', 'google-chrome', 'google-chrome-stable', 'chromium-browser']
  const folders = (process.env['PATH'] ?? '').split(path.delimiter)
  const candidates = [
    ...names.flatMap((name) => folders.map((folder) => path.join(folder, name))),
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
  ]
  return candidates.find((file) => existsSync(file))
}

/** Returns this process' environment for a program that also needs the shared libraries of a folder. */
export function libraryEnvironment(folder: string): Record<string, string> {
  return { ...process.env, LD_LIBRARY_PATH: folder } as Record<string, string>
}
