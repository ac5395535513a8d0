import type { ZodType } from 'zod'
import { ConfigError } from './errors.ts'

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/**
 * Reads a service's configuration from its environment. `schema` is a zod object over variable names, or several
 * joined: `kafkaConfig.and(redisConfig).and(z.object({ … }))`. An empty variable counts as absent.
 *
 * Throws {@link ConfigError}, which lists every wrong variable and what is expected, but never its value.
 */
export function readConfig<Config>(schema: ZodType<Config>, env: EnvironmentVariables): Config {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const result = schema.safeParse(present)
  if (result.success) return result.data
  const faults = result.error.issues.map(({ path, message }) => {
    const name = String(path[0] ?? 'environment')
    return `${name} is ${Object.hasOwn(present, name) ? 'wrong' : 'not set'}: ${message}`
  })
  throw new ConfigError(
    `The environment needs a change.\n${[...new Set(faults)].map((fault) => `  ${fault}`).join('\n')}`,
  )
}

/** For a `main.ts`: the configuration. Where it is wrong, prints what is wrong to standard error and exits with 2. */
export function configOrExit<Config>(read: () => Config): Config {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(2)
  }
}
