import { containerName } from './docker.ts'
import type { ProcessPlan } from './owned-process.ts'

interface ContainerOptions {
  readonly name: string
  readonly image: string
  /** Data folder of the stack. The names of container and volume derive from it. */
  readonly dataDirectory: string
  /** Data folder of the image; a named volume is mounted there. */
  readonly volumePath: string
  /** Ports, published on loopback only. */
  readonly port: { readonly host: number; readonly container: number }
  readonly environment?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  readonly logFile: string
  readonly signal?: AbortSignal | undefined
  readonly readyLine: RegExp
}

/** Returns the plan that runs `docker run` as an owned process. */
export function containerPlan(options: ContainerOptions): ProcessPlan {
  const container = containerName(options.name, options.dataDirectory)
  const environment = Object.entries(options.environment ?? {}).map(([name, value]) => `--env=${name}=${value}`)
  return {
    name: options.name,
    command: 'docker',
    args: [
      'run',
      '--rm',
      `--name=${container}`,
      '--label=nextvisit.local-stack=true',
      `--publish=127.0.0.1:${options.port.host}:${options.port.container}`,
      `--volume=${container}:${options.volumePath}`,
      ...environment,
      options.image,
      ...(options.args ?? []),
    ],
    container,
    logFile: options.logFile,
    signal: options.signal,
    readyLine: options.readyLine,
  }
}
