import { existsSync } from 'node:fs'

/** Where the real parts that specs use come from. `auto`: containers where an engine has the images, else this machine. */
export type TestParts = 'auto' | 'docker' | 'local'

export interface TestConfig {
  readonly parts: TestParts
  /** A part whose address is given is used as it is, and none is started. */
  readonly kafkaBrokers: string | undefined
  readonly databaseUrl: string | undefined
  readonly redisUrl: string | undefined
}

export function readTestConfig(): TestConfig {
  const parts = process.env['NEXTVISIT_TEST_PARTS'] ?? 'auto'
  if (parts !== 'auto' && parts !== 'docker' && parts !== 'local') {
    throw new RangeError(`NEXTVISIT_TEST_PARTS is ${parts}; it has to be auto, docker or local.`)
  }
  return {
    parts,
    kafkaBrokers: given('KAFKA_BROKERS'),
    databaseUrl: given('DATABASE_URL'),
    redisUrl: given('REDIS_URL'),
  }
}

/**
 * Testcontainers takes a machine with /.dockerenv for a container and dials the bridge's gateway, but published ports
 * may listen on loopback only. Set before testcontainers is imported.
 */
export function dialContainersOnLoopback(): void {
  if (existsSync('/.dockerenv')) process.env['TESTCONTAINERS_HOST_OVERRIDE'] ??= 'localhost'
}

function given(name: string): string | undefined {
  const value = process.env[name]
  return value === '' ? undefined : value
}

/** How long a property is looked for a counterexample, and where one that was found is. */
export interface Campaign {
  readonly runs: number
  readonly withinMs: number
  /** What fast-check printed of a failure: its seed and path, and of commands their `replayPath`. */
  readonly replay: { readonly seed?: number; readonly path?: string }
  readonly replayCommands: { readonly replayPath?: string }
}

/** `NEXTVISIT_PROPERTY_RUNS`, `_SEED`, `_PATH` and `_REPLAY_PATH`; `usualRuns`: of an ordinary test run. */
export function readCampaign(usualRuns: number): Campaign {
  const runs = Number(given('NEXTVISIT_PROPERTY_RUNS') ?? usualRuns)
  const seed = given('NEXTVISIT_PROPERTY_SEED')
  const path = given('NEXTVISIT_PROPERTY_PATH')
  const replayPath = given('NEXTVISIT_PROPERTY_REPLAY_PATH')
  return {
    runs,
    withinMs: Math.max(60_000, runs * 10_000),
    replay: { ...(seed ? { seed: Number(seed) } : {}), ...(path ? { path } : {}) },
    replayCommands: replayPath ? { replayPath } : {},
  }
}
